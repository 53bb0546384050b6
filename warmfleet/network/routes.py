"""How long the path between two places is: along cables, not across oceans and mountains."""

import heapq
from functools import cache
from typing import NamedTuple

from warmfleet.catalog.rtt import Hub, hubs
from warmfleet.network.distance import distance_km

__all__ = ["Point", "cable_km", "core_km", "gateway_km"]

_NEAR = 3
"""Hubs tried at either end."""

_SHORT_KM = 2000.0
"""Shorter paths need no detour."""


class Point(NamedTuple):
    """A place on the globe, in degrees."""

    latitude: float
    longitude: float


_CORE = (Point(39.9, 116.4), Point(31.2, 121.5), Point(23.1, 113.3))
"""Beijing, Shanghai, Guangzhou: carriers of the mainland meet each other and the world there."""


def cable_km(start: Point, end: Point) -> float:
    """Return the length of the shortest path over hubs, or the distance where land is between."""
    direct = distance_km(*start, *end)
    near, far = _nearest(start), _nearest(end)
    if direct < _SHORT_KM or {name for _, name in near[:2]} & {name for _, name in far[:2]}:
        return direct
    over = min(first + _between(one)[other] + last for first, one in near for last, other in far)
    return max(direct, over)


def core_km(start: Point, end: Point) -> float:
    """Return the length of the shortest path by a core city of the mainland."""
    return min(distance_km(*start, *core) + distance_km(*core, *end) for core in _CORE)


def gateway_km(inside: Point, outside: Point) -> float:
    """Return the length of the shortest path over the border of the mainland, by a core city."""
    return min(distance_km(*inside, *core) + cable_km(core, outside) for core in _CORE)


@cache
def _nearest(point: Point) -> tuple[tuple[float, str], ...]:
    found = [(distance_km(*point, hub.latitude, hub.longitude), hub.name) for hub in hubs()]
    return tuple(heapq.nsmallest(_NEAR, found))


@cache
def _between(start: str) -> dict[str, float]:
    """Return the length along cables from one hub to each."""
    known, waiting = dict[str, float](), [(0.0, start)]
    while waiting:
        km, name = heapq.heappop(waiting)
        if name in known:
            continue
        known[name] = km
        waiting += [(km + length, other) for other, length in _cables()[name] if other not in known]
        heapq.heapify(waiting)
    return known


@cache
def _cables() -> dict[str, list[tuple[str, float]]]:
    named: dict[str, Hub] = {hub.name: hub for hub in hubs()}
    found: dict[str, list[tuple[str, float]]] = {name: [] for name in named}
    for hub in hubs():
        for name in hub.cables:
            other = named[name]
            km = distance_km(hub.latitude, hub.longitude, other.latitude, other.longitude)
            found[hub.name].append((name, km))
            found[name].append((hub.name, km))
    return found
