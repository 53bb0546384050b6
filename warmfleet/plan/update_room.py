"""Room for a second copy of a model's replicas: on cards of their own, or on the same ones."""

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from warmfleet.plan.choice import gb, gib
from warmfleet.plan.gpu_choice import Chosen
from warmfleet.plan.gpu_hosts import least_cores, least_memory
from warmfleet.plan.gpu_models import ReplicaPlace, ServerGroupPlan
from warmfleet.plan.models import Scalar
from warmfleet.spec.placement import BaremetalPlacement
from warmfleet.spec.servers import ServerSpec

__all__ = ["Room", "room_for"]


class Room(Struct, frozen=True):
    """What there is beside a model's replicas at a site.

    Attributes:
        second_set: where a whole second set would be.
        short_of_second_set: what is missing for one; None: nothing.
        short_of_second_copy: what is missing for two copies on the same cards; None: nothing.
        copy_bytes: of a card, that one copy must have, with the cache of its places.
        card_bytes: that engines may have of a card.
    """

    second_set: str
    short_of_second_set: str | None
    short_of_second_copy: str | None
    copy_bytes: int
    card_bytes: int

    @property
    def inputs(self) -> dict[str, Scalar]:
        """The numbers, for the decision."""
        return {"copy_bytes": self.copy_bytes, "card_bytes": self.card_bytes}


def room_for(
    model: Chosen,
    chosen: Mapping[str, Chosen],
    groups: Sequence[ServerGroupPlan],
    placement: BaremetalPlacement,
) -> Room:
    """Return the room for a second copy of this model at one site.

    Args:
        model: whose replicas are to be replaced.
        chosen: cards of all models, by name.
        groups: servers of the site.
        placement: servers that are leased there.
    """
    name = model.wanted.spec.name
    mine = [group for group in groups if any(place.model == name for place in group.replicas)]
    servers = {server.name: server for server in placement.servers}
    second_set, short_of_set = _second_set(model, chosen, mine, groups, servers)
    copies = [_short_of_copy(model, chosen, group, servers) for group in mine]
    return Room(
        second_set,
        short_of_set,
        next((short for short in copies if short is not None), None),
        _needed(model),
        _usable(model),
    )


def _needed(model: Chosen) -> int:
    """Bytes of each card for one copy: weights, engine, and the cache that its places must have."""
    return model.used_bytes + model.offer.fit.graphs


def _usable(model: Chosen) -> int:
    held = model.offer.fit
    return min(held.total, held.budget + held.graphs)


def _second_set(
    model: Chosen,
    chosen: Mapping[str, Chosen],
    mine: Sequence[ServerGroupPlan],
    groups: Sequence[ServerGroupPlan],
    servers: Mapping[str, ServerSpec],
) -> tuple[str, str | None]:
    """Return where a second set would be, and what is missing for it."""
    name, cards = model.wanted.spec.name, model.offer.layout.count
    free = min(_free_cards(group) - cards * _replicas(group, name) for group in mine)
    if free >= 0:
        there = "free cards of the same servers"
        hosts = (
            _short_host(
                chosen, group, [one for one in group.replicas if one.model == name], servers
            )
            for group in mine
        )
        return there, next((short for short in hosts if short is not None), None)
    needed = sum(group.count for group in mine)
    used = {one for group in groups for one in group.servers}
    idle = [one for one in servers if one not in used and one in model.pool.servers]
    where = f"{len(idle)} idle servers like them"
    if len(idle) >= needed:
        return where, None
    missing = needed - len(idle)
    there = f"{len(idle)} idle of {needed}" if model.pool.leased else f"none beside {needed}"
    return where, (
        f"no cards for a second set: {there} server{'s' if needed > 1 else ''} with "
        f"{mine[0].gpus} x {mine[0].card} ({missing} missing)"
    )


def _free_cards(group: ServerGroupPlan) -> int:
    return group.gpus - len({card for place in group.replicas for card in place.cards})


def _replicas(group: ServerGroupPlan, name: str) -> int:
    return sum(place.model == name for place in group.replicas)


def _short_of_copy(
    model: Chosen,
    chosen: Mapping[str, Chosen],
    group: ServerGroupPlan,
    servers: Mapping[str, ServerSpec],
) -> str | None:
    """Return what a server of the group lacks for one more copy on cards that hold one."""
    name = model.wanted.spec.name
    taken = Counter[int]()
    for place in group.replicas:
        for card in place.cards:
            taken[card] += _needed(chosen[place.model])
    place = next(one for one in group.replicas if one.model == name)
    left = _usable(model) - max(taken[card] for card in place.cards)
    if (missing := _needed(model) - left) > 0:
        return (
            f"no room for two copies on a card: one needs {gib(_needed(model))} GiB, and "
            f"{gib(max(0, left))} of {gib(_usable(model))} are left beside what is there "
            f"({gib(missing)} missing)"
        )
    return _short_host(chosen, group, [place], servers)


def _short_host(
    chosen: Mapping[str, Chosen],
    group: ServerGroupPlan,
    more: Sequence[ReplicaPlace],
    servers: Mapping[str, ServerSpec],
) -> str | None:
    """Return what the hosts of a group lack for some replicas more.

    Servers to be rented come with what is ordered; what a contract leaves out is not checked.
    """
    both = [*group.replicas, *more]
    memory, cores = least_memory(both, chosen), least_cores(both)
    contracts = [servers[name].contract for name in group.servers]
    rams = [one.ram.bytes for one in contracts if one.ram is not None]
    cpus = [one.cpu for one in contracts if one.cpu is not None]
    if not contracts:
        rams, cpus = [group.host.memory_bytes], [group.host.cores]
    if (has := min(rams, default=memory)) < memory:
        return (
            f"no host memory for both: {gb(memory)} GB needed, {gb(has)} there "
            f"({gb(memory - has)} missing)"
        )
    if (there := min(cpus, default=cores)) < cores:
        return f"no cores for both: {cores} needed, {there} there ({cores - there} missing)"
    return None
