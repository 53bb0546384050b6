"""Replicas of several models on as few servers as hold them."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

__all__ = ["BUSY_SHARE", "Packing", "Part", "Server", "pack", "place"]

BUSY_SHARE = 0.8
"""Of a card's time, over all models on it: above it, waiting grows faster than load."""

_EXACT_PARTS = 10
"""Up to this many all ways are tried; beyond, largest first."""


class Part(Struct, frozen=True):
    """One replica of a model.

    Attributes:
        model: its name.
        cards: of one server, that it is divided over.
        memory: bytes that it takes on each of them, cache included.
        busy: share of their time that its load takes, between 0 and 1.
        together: replicas of its model that may be on one server: as many as may fail at a time.
    """

    model: str
    cards: int
    memory: int
    busy: float
    together: int = 1


class Server(Struct, frozen=True):
    """A server's cards: so many, each with so many bytes that engines may have."""

    cards: int
    memory: int


class Packing(Struct, frozen=True):
    """Parts by server.

    Attributes:
        servers: what is on each.
        least: servers that memory, load and replicas need whatever the order: no packing has
            fewer.
        exact: no packing of fewer servers exists; else ``len(servers) - least`` bounds the excess.
    """

    servers: tuple[tuple[Part, ...], ...]
    least: int
    exact: bool


class _Load:
    """What is on one server so far."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.parts: list[Part] = []
        self.free = [(server.memory, BUSY_SHARE)] * server.cards

    def with_part(self, part: Part) -> "_Load | None":
        """Return the load with one part more; None where it does not fit."""
        if sum(other.model == part.model for other in self.parts) >= part.together:
            return None
        # The fullest cards that still hold it: what is left stays in one piece.
        order = sorted(range(len(self.free)), key=lambda card: self.free[card])
        fitting = [
            card
            for card in order
            if self.free[card][0] >= part.memory and self.free[card][1] >= part.busy - _ROUNDING
        ]
        if len(fitting) < part.cards:
            return None
        load = _Load(self.server)
        load.parts = [*self.parts, part]
        load.free = list(self.free)
        for card in fitting[: part.cards]:
            memory, busy = self.free[card]
            load.free[card] = (memory - part.memory, busy - part.busy)
        return load


_ROUNDING = 1e-9


def pack(parts: Sequence[Part], server: Server) -> Packing | None:
    """Put parts on as few servers of one kind as possible; None where one part fits on none.

    Up to ten parts: depth first over all ways, alike servers tried once. More: largest first,
    each on the first server that holds it, which for memory alone is at most 11/9 of the fewest
    and one more (Dosa 2007); the packing's own bound is stated with it.
    """
    ordered = _largest_first(parts)
    if any(_Load(server).with_part(part) is None for part in ordered):
        return None
    least = _least(ordered, server)
    first = _first_fit(ordered, [], server)
    best = [load.parts for load in first]
    exact = len(best) == least
    if not exact and len(ordered) <= _EXACT_PARTS:
        for fewer in range(least, len(best)):
            found = _search(ordered, [_Load(server)] * fewer)
            if found is not None:
                best = [load.parts for load in found]
                break
        exact = True
    return Packing(tuple(tuple(on) for on in best), least, exact)


def place(
    parts: Sequence[Part], servers: Sequence[Server]
) -> tuple[tuple[tuple[Part, ...], ...], tuple[Part, ...]]:
    """Put parts on given servers, the first of them first; return those by server and the rest.

    All of them where up to ten parts can be; else each where it first fits, in the order given:
    sort by what should stay.
    """
    empty = [_Load(server) for server in servers]
    if len(parts) <= _EXACT_PARTS:
        found = _search(_largest_first(parts), empty)
        if found is not None:
            return tuple(tuple(load.parts) for load in found), ()
    loads, left = empty, []
    for part in parts:
        index, load = next(_fits(part, loads), (None, None))
        if index is None or load is None:
            left.append(part)
        else:
            loads[index] = load
    return tuple(tuple(load.parts) for load in loads), tuple(left)


def _largest_first(parts: Sequence[Part]) -> list[Part]:
    return sorted(parts, key=lambda part: (-part.cards, -part.memory, -part.busy, part.model))


def _first_fit(parts: Sequence[Part], loads: list[_Load], server: Server) -> list[_Load]:
    for part in parts:
        index, load = next(_fits(part, loads), (None, None))
        if index is None or load is None:
            added = _Load(server).with_part(part)
            if added is not None:
                loads.append(added)
        else:
            loads[index] = load
    return loads


def _search(parts: Sequence[Part], loads: list[_Load]) -> list[_Load] | None:
    if not parts:
        return loads
    tried: set[tuple[object, ...]] = set()
    for index, load in _fits(parts[0], loads):
        before = loads[index]
        alike = (before.server, tuple(before.parts))
        if alike in tried:
            continue
        tried.add(alike)
        found = _search(parts[1:], [*loads[:index], load, *loads[index + 1 :]])
        if found is not None:
            return found
    return None


def _fits(part: Part, loads: Sequence[_Load]) -> Iterator[tuple[int, _Load]]:
    for index, load in enumerate(loads):
        if (held := load.with_part(part)) is not None:
            yield index, held


def _least(parts: Sequence[Part], server: Server) -> int:
    memory = sum(part.cards * part.memory for part in parts) / (server.cards * server.memory)
    busy = sum(part.cards * part.busy for part in parts) / (server.cards * BUSY_SHARE)
    models = Counter(part.model for part in parts)
    apart = max((models[part.model] / part.together for part in parts), default=0)
    return max(math.ceil(memory), math.ceil(busy - _ROUNDING), math.ceil(apart))
