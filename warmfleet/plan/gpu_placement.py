"""Replicas on servers: which servers there must be, who shares cards, who stays on them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import Struct

from warmfleet.catalog.load_rate import load_rate
from warmfleet.errors import PlanRefusedError
from warmfleet.plan.choice import Choice
from warmfleet.plan.gpu_cards import assign_cards
from warmfleet.plan.gpu_choice import Chosen
from warmfleet.plan.gpu_hosts import SYSTEM_BYTES, plan_server
from warmfleet.plan.gpu_models import ReplicaPlace, ResidencyPlan, ServerGroupPlan
from warmfleet.plan.gpu_pools import Pool
from warmfleet.plan.gpu_replicas import Staffing
from warmfleet.plan.models import Decision, Scalar
from warmfleet.sizing.packing import Part, Server, pack
from warmfleet.sizing.residency import Residency, Tenant, reside
from warmfleet.spec.models import SloSpec

__all__ = ["Placed", "place_models"]


class Placed(Struct, frozen=True):
    """Where replicas run."""

    groups: tuple[ServerGroupPlan, ...]
    decisions: tuple[Decision, ...]
    """About the groups of the site."""
    residency: Mapping[str, tuple[ResidencyPlan, Choice[str]]]
    """By model."""
    shared: frozenset[str]
    """Models that share a card with another one somewhere."""


class _Member(Struct, frozen=True):
    """A model with its replicas in one pool."""

    chosen: Chosen
    staffing: Staffing

    @property
    def replicas(self) -> int:
        return self.staffing.replicas.value

    @property
    def name(self) -> str:
        return self.chosen.wanted.spec.name

    @property
    def part(self) -> Part:
        offer = self.chosen.offer
        held, found = offer.fit, offer.deployment
        return Part(
            model=self.name,
            cards=offer.layout.count,
            memory=self.chosen.used_bytes + held.graphs,
            busy=found.service.utilisation,
            together=self.staffing.each,
        )

    def tenants(self) -> list[Tenant]:
        """Return one for each replica; each is a part of its own."""
        rate = sum(demand.rate for demand in self.chosen.wanted.demands)
        return [
            Tenant(
                part=self.part,
                weights=self.chosen.offer.fit.weights,
                rate=rate / self.replicas,
                sleeps=self.chosen.offer.engine.engine == "vllm",
            )
            for _ in range(self.replicas)
        ]


def place_models(
    chosen: Sequence[Chosen],
    staffing: Sequence[Staffing],
    host_memory: Mapping[str, int],
    slo: SloSpec,
    *,
    site: int,
) -> Placed:
    """Put the replicas of all models on servers of one site.

    Args:
        chosen: cards of each model.
        staffing: replicas of each model.
        host_memory: bytes of leased servers' own memory by name, where the contract says it.
        slo: what the endpoint is held to.
        site: number of the site in the plan.

    Raises:
        PlanRefusedError: leased servers do not hold them all, not even in turn; or no disk reads
            the weights within the asked cold start.
    """
    groups: list[ServerGroupPlan] = []
    decisions: list[Decision] = []
    residency: dict[str, tuple[ResidencyPlan, Choice[str]]] = {}
    shared: set[str] = set()
    members = [_Member(one, count) for one, count in zip(chosen, staffing, strict=True)]
    for pool in dict.fromkeys(member.chosen.pool for member in members):
        inside = [member for member in members if member.chosen.pool == pool]
        cards = pool.cards or max(member.part.cards for member in inside)
        # The most that any of them may have alone, or a model that fills a card would fit nowhere.
        server = Server(cards, max(map(_memory, inside)))
        rows: tuple[Residency, ...] = ()
        if len(inside) == 1:
            servers = _alike(inside[0])
        elif pool.leased:
            free = [max(0, host_memory.get(name, 0) - SYSTEM_BYTES) for name in pool.servers]
            tenants = [tenant for member in inside for tenant in member.tenants()]
            rows = reside(tenants, [server] * len(pool.servers), free)
            _must_be_placed(rows, pool)
            servers = [
                [row.tenant.part for row in rows if row.server == index]
                for index in range(len(pool.servers))
            ]
        else:
            packing = pack([m.part for m in inside for _ in range(m.replicas)], server)
            servers = [list(parts) for parts in packing.servers] if packing else []
        held = Counter[int]()
        for row in rows:
            held[-1 if row.server is None else row.server] += row.host_memory
        for group, choices in _groups(pool, server, servers, inside, held, slo):
            at = f"sites[{site}].groups[{len(groups)}]"
            groups.append(group)
            decisions += [choice.decision(f"{at}.{field}") for field, choice in choices.items()]
            shared |= _sharing(group)
        residency |= {member.name: _residency(member, rows) for member in inside}
    return Placed(tuple(groups), tuple(decisions), residency, frozenset(shared))


def _memory(member: _Member) -> int:
    held = member.chosen.offer.fit
    return min(held.total, held.budget + held.graphs)


def _alike(member: _Member) -> list[list[Part]]:
    """One model alone, each replica on cards of its own."""
    part, left = member.part, member.replicas
    each = part.together
    servers = []
    while left > 0:
        servers.append([part] * min(each, left))
        left -= each
    return servers


def _must_be_placed(rows: Iterable[Residency], pool: Pool) -> None:
    moved = Counter(row.tenant.part.model for row in rows if row.kind == "moved")
    if not moved:
        return
    named = ", ".join(f"{count} of model {name}" for name, count in moved.items())
    needed = sum(moved.values())
    msg = (
        f"placement.servers: {pool} {'have' if len(pool.servers) > 1 else 'has'} no room for "
        f"{named}, not even in turn; nearest: {needed} server{'s' if needed > 1 else ''} more, or "
        "fewer models"
    )
    raise PlanRefusedError(msg)


def _groups(
    pool: Pool,
    server: Server,
    servers: Sequence[Sequence[Part]],
    members: Sequence[_Member],
    held: Mapping[int, int],
    slo: SloSpec,
) -> Iterator[tuple[ServerGroupPlan, Mapping[str, Choice[Scalar]]]]:
    """Yield servers with the same replicas as one group; leased ones without any are left out."""

    def content(index: int) -> list[tuple[str, int]]:
        return sorted(Counter(part.model for part in servers[index]).items())

    used = sorted((index for index in range(len(servers)) if servers[index]), key=content)
    chosen = {member.name: member.chosen for member in members}
    for on, indexes in groupby(used, key=content):
        there = list(indexes)
        places = [
            ReplicaPlace(model=part.model, cards=list(cards))
            for part, cards in assign_cards(servers[there[0]], server)
        ]
        host = plan_server(
            places,
            chosen,
            {member.name: member.replicas for member in members},
            slo,
            cards=server.cards,
            held_bytes=max(held.get(index, 0) for index in there),
        )
        said = ", ".join(f"{count} of {name}" for name, count in on)
        total = ", ".join(f"{m.replicas} of {m.name}" for m in members if m.name in dict(on))
        count = Choice[Scalar](
            len(there), f"replicas: {total}; on each server {said}", dict(on), pool.gpu.source
        )
        plan = ServerGroupPlan(
            name="gpu-" + "-".join(name for name, _ in on),
            gpu=pool.gpu.id,
            card=pool.gpu.name,
            gpus=server.cards,
            count=len(there),
            host=host.plan,
            replicas=places,
            servers=[pool.servers[index] for index in there] if pool.leased else [],
        )
        reasons = {f"host.{field}": choice for field, choice in host.choices.items()}
        yield plan, {"count": count, **reasons}


def _sharing(group: ServerGroupPlan) -> set[str]:
    """Return the models of which a card holds another replica, too."""
    on = Counter(card for place in group.replicas for card in place.cards)
    return {place.model for place in group.replicas if any(on[card] > 1 for card in place.cards)}


def _residency(member: _Member, rows: Sequence[Residency]) -> tuple[ResidencyPlan, Choice[str]]:
    """Return what holds for the replica that is worst off."""
    mine = [row for row in rows if row.tenant.part.model == member.name]
    worst = max(mine, key=lambda row: row.load_s, default=None)
    if worst is None or worst.kind == "resident":
        disk = load_rate("disk")
        choice = Choice(
            "resident",
            "has room beside the others" if rows else "has its cards for itself",
            {"first_load_s": disk.seconds(member.chosen.offer.fit.weights)},
            disk.source,
        )
        return ResidencyPlan(kind="resident", wait_s=0, host_memory_bytes=0), choice
    plan = ResidencyPlan(kind=worst.kind, wait_s=worst.load_s, host_memory_bytes=worst.host_memory)
    source = load_rate("disk" if worst.kind == "in_turn" else "shared_memory").source
    inputs = {"rate": worst.tenant.rate, "weights_bytes": worst.tenant.weights}
    return plan, Choice(worst.kind, worst.reason, inputs, source)
