"""Which models stay on their cards, and what the others cost a caller who asks for them."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from warmfleet.catalog.load_rate import Medium, load_rate
from warmfleet.sizing.packing import Part, Server, place

__all__ = ["Residency", "Tenant", "reside"]

_TURNS_SHARE = 0.5
"""Of a server's time that may go into loading models in turn: beyond, they wait for each other."""

_GIB = 2**30


class Tenant(Struct, frozen=True):
    """A replica that shares servers with other models.

    Attributes:
        part: what it takes of its cards.
        weights: bytes to load onto each card.
        rate: requests a second that it serves.
        sleeps: its engine can keep the weights in shared memory (vLLM's sleep mode).
    """

    part: Part
    weights: int
    rate: float
    sleeps: bool = False


class Residency(Struct, frozen=True):
    """Where one replica lives.

    Attributes:
        kind: ``resident`` on its cards; a ``placeholder`` whose weights wait in host memory;
            ``in_turn``: loaded from disk when asked for; ``moved``: needs one server more.
        server: index of the server; None where it is moved.
        load_s: seconds that a request waits when another model is in its place; 0: resident.
        host_memory: bytes of the server's memory that hold the weights.
        reason: one line.
    """

    tenant: Tenant
    kind: Literal["resident", "placeholder", "in_turn", "moved"]
    server: int | None
    load_s: float
    host_memory: int
    reason: str


def reside(
    tenants: Sequence[Tenant], servers: Sequence[Server], host_memory: Sequence[int]
) -> tuple[Residency, ...]:
    """Decide for each replica whether it stays on its cards.

    All stay where they can. Else the busiest stay and those asked for least take turns: on the
    server where loading takes the least of the time, each is loaded when a request for it finds
    another one in its place. At worst every request does, so ``sum(rate x load)`` of a server's
    turns may be half of its time at most; what is beyond is moved to one server more.

    Args:
        tenants: replicas of all models.
        servers: their cards.
        host_memory: free bytes of each server's own memory.
    """
    order = sorted(tenants, key=lambda tenant: (-tenant.rate, tenant.part.model))
    placed, left = place([tenant.part for tenant in order], servers)
    known = {id(tenant.part): tenant for tenant in order}
    groups = [
        _Group(server, memory, [known[id(part)] for part in parts], [])
        for server, memory, parts in zip(servers, host_memory, placed, strict=True)
    ]
    moved: list[Tenant] = []
    for part in left:
        tenant = known[id(part)]
        tried = [(index, group.joined_by(tenant)) for index, group in enumerate(groups)]
        able = [(group.turning, index, group) for index, group in tried if group is not None]
        if not able or min(able, key=lambda choice: choice[:2])[0] > _TURNS_SHARE:
            moved.append(tenant)
            continue
        _, index, groups[index] = min(able, key=lambda choice: choice[:2])
    return (
        *(row for index, group in enumerate(groups) for row in group.residencies(index)),
        *(Residency(tenant, "moved", None, 0.0, 0, _MOVED) for tenant in moved),
    )


_MOVED = (
    "fits beside no others, and loading it in turn would take more than half of a server's time: "
    "needs one server more"
)


class _Group(Struct, frozen=True):
    """One server: who stays, and who takes turns in the room that is left."""

    server: Server
    host_memory: int
    staying: list[Tenant]
    turns: list[Tenant]

    @property
    def turning(self) -> float:
        """Share of the time that loading takes if every request finds another in its place."""
        return sum(tenant.rate * load_s for tenant, _, load_s, _ in self._loading())

    def joined_by(self, tenant: Tenant) -> "_Group | None":
        """Return the server with one more that takes turns; None where it never fits.

        Those asked for least give up their place until each that takes turns fits alone.
        """
        staying, turns = list(self.staying), [*self.turns, tenant]
        while True:
            parts = [one.part for one in staying]
            if all(not place([*parts, one.part], [self.server])[1] for one in turns):
                return _Group(self.server, self.host_memory, staying, turns)
            if not staying:
                return None
            turns.append(staying.pop(min(range(len(staying)), key=lambda at: staying[at].rate)))

    def residencies(self, index: int) -> list[Residency]:
        """Return where each of the server's replicas lives."""
        stay = "fits beside the others on its server"
        return [
            *(Residency(tenant, "resident", index, 0.0, 0, stay) for tenant in self.staying),
            *(
                Residency(
                    tenant,
                    "in_turn" if medium == "disk" else "placeholder",
                    index,
                    load_s,
                    held,
                    _turn(tenant, medium, load_s, len(self.turns)),
                )
                for tenant, medium, load_s, held in self._loading()
            ),
        ]

    def _loading(self) -> list[tuple[Tenant, Medium, float, int]]:
        """Return what each turn is loaded from, the seconds, and the host memory it holds.

        The busiest wait in host memory, as long as there is some.
        """
        found, free = [], self.host_memory
        for tenant in sorted(self.turns, key=lambda one: -one.rate):
            held = tenant.weights * tenant.part.cards
            medium: Medium = "shared_memory" if tenant.sleeps else "page_cache"
            if held > free:
                medium, held = "disk", 0
            free -= held
            found.append((tenant, medium, load_rate(medium).seconds(tenant.weights), held))
        return found


def _turn(tenant: Tenant, medium: Medium, load_s: float, turns: int) -> str:
    where = {
        "shared_memory": "its weights wait in shared memory, its process lives on",
        "page_cache": "its weights wait in the page cache",
        "disk": "the server's memory has no room for its weights: they come from disk",
    }[medium]
    return (
        f"{tenant.rate:g} requests/s are the least of its server: {turns} models take turns in one "
        f"place; {where}; a request that finds another model there waits {load_s:.0f} s for "
        f"{tenant.weights / _GIB:.1f} GiB a card"
    )
