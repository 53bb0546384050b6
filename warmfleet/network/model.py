"""The model of one kind of path: its length, and what measured paths nearby say beside it.

A path that was measured says something of paths whose ends are near its own. So the estimate is
the mean by the length of the path, plus a sum over all measured paths: the weight that the fit gave
each, times how near its ends are (Gaussian process regression; ``fit.py`` finds the weights).
"""

import math
from collections import defaultdict
from functools import cache, cached_property
from typing import NamedTuple

from warmfleet.catalog.rtt import Band, Route, RttNet, rtt_net
from warmfleet.network.distance import distance_km
from warmfleet.network.linear import dot
from warmfleet.network.routes import Point, cable_km, core_km, gateway_km

__all__ = ["SAME_CITY_KM", "Answer", "PathModel", "lengths", "path_model"]

SAME_CITY_KM = 50.0
"""Places that are nearer than this are one place to a measurement."""

ENOUGH_SAMPLES = 3
"""Fewer probes say less of a path than the model, which knows them and what is measured nearby."""

BAND_MS = 40.0
"""Added to an estimate before its band is taken of it: short paths err by milliseconds."""

_LIGHT_KM_PER_MS = 102.0
"""In glass, there and back: nothing is faster."""


_Column = tuple[float | None, list[float]]
"""Kilometres over which the end fades, and a sum by the cities there."""


class Answer(NamedTuple):
    """What the model says of one path, in milliseconds."""

    ms: float
    low: float
    high: float
    measured: bool
    source: str


class PathModel:
    """Answers for paths of one kind."""

    def __init__(self, net: RttNet) -> None:
        """Take the measured paths and their weights."""
        self.net = net
        starts, ends = {row[0] for row in net.rows}, {row[1] for row in net.rows}
        if net.both_ways:
            starts = ends = starts | ends
        self._sides = _Side(net, starts), _Side(net, ends)
        self._sums: dict[tuple[Point, int], tuple[float, list[_Column]]] = {}

    def answer(self, start: Point, end: Point, line: str) -> Answer:
        """Return the time between two places; ``start`` is in the mainland where one end is.

        A line that was not measured on this kind of path is answered as the first one.
        """
        index = self.line(line)
        rows = self.measured(start, end, index)
        if sum(samples for *_, samples in rows) < ENOUGH_SAMPLES:
            rows = []  # the model has seen them, and more
        ms = _median([ms for ms, *_ in rows]) if rows else self.modelled(start, end, index)
        below, above, _ = self.band(start, end, index)
        least = distance_km(*start, *end) / _LIGHT_KM_PER_MS
        ms = max(ms, least)
        low, high = ms - below * (ms + BAND_MS), ms + above * (ms + BAND_MS)
        sources = dict.fromkeys(self.net.sources[source] for _, source, _ in rows)
        return Answer(ms, max(low, least), high, bool(rows), "; ".join(sources) or self.net.source)

    def line(self, name: str) -> int:
        """Return which of the measured lines stands for one."""
        return self.net.lines.index(name) if name in self.net.lines else 0

    def measured(self, start: Point, end: Point, line: int) -> list[tuple[float, int, int]]:
        """Return milliseconds, source and samples of all that was measured between two places."""
        return [
            row
            for one in self._sides[0].same(start)
            for other in self._sides[1].same(end)
            for row in self._by_pair.get((one, other, line), ())
        ]

    def modelled(self, start: Point, end: Point, line: int) -> float:
        """Return the estimate in milliseconds, whether the path was measured or not."""
        base, *slopes = self.net.mean
        km = lengths(self.net.route, start, end)
        mean = base + dot(slopes, km)
        at_start, columns = self._sum_from(start, line)
        ms = mean + at_start
        for fades_km, column in columns:
            ms += dot(column, self._sides[1].near(end, fades_km))
        if self.net.least is not None:
            base, slope = self.net.least
            ms = max(ms, base + slope * km[0])
        return ms

    def band(self, start: Point, end: Point, line: int) -> Band:
        """Return the band of errors, by how many of the two places were never measured."""
        return self.net.bands[line][self.unknown(start, end)]

    def unknown(self, start: Point, end: Point) -> int:
        """Return how many of two places no measured path of this kind ends in."""
        starts, ends = self._sides
        return (not starts.same(start)) + (not ends.same(end))

    def cities_at_end(self, end: Point) -> list[int]:
        """Return the measured cities (of the table) that a place is in."""
        return self._sides[1].same(end)

    def _sum_from(self, point: Point, line: int) -> tuple[float, list[_Column]]:
        """Return what the sum is from one end: a part that is done, and a column by other ends."""
        key = (point, line)
        if key not in self._sums:
            done, columns = 0.0, list[_Column]()
            for ms, here_km, there_km in self.net.terms:
                near = self._sides[0].near(point, here_km)
                if there_km is None:
                    done += ms**2 * dot(near, self._totals(line))
                elif here_km is None:
                    columns.append((there_km, self._scaled_totals(line, ms)))
                else:
                    column = [ms**2 * dot(near, row) for row in self._weights(line)]
                    columns.append((there_km, column))
            self._sums[key] = done, columns
        return self._sums[key]

    @cache  # noqa: B019 - models live as long as the process
    def _weights(self, line: int) -> list[list[float]]:
        """Return the weights as one line sees them: a row an end, a column a start."""
        starts, ends = self._sides
        rows = [[0.0] * len(starts.cities) for _ in ends.cities]
        for start, end, other, _, weight, *_ in self.net.rows:
            seen = weight if other == line else weight * self.net.between_lines
            rows[ends.place[end]][starts.place[start]] += seen
            if self.net.both_ways:
                rows[ends.place[start]][starts.place[end]] += seen
        return rows

    @cache  # noqa: B019
    def _totals(self, line: int) -> list[float]:
        return [sum(column) for column in zip(*self._weights(line), strict=True)]

    @cache  # noqa: B019
    def _scaled_totals(self, line: int, ms: float) -> list[float]:
        return [ms**2 * sum(row) for row in self._weights(line)]

    @cached_property
    def _by_pair(self) -> dict[tuple[int, int, int], list[tuple[float, int, int]]]:
        found: dict[tuple[int, int, int], list[tuple[float, int, int]]] = defaultdict(list)
        for start, end, line, ms, _, source, samples in self.net.rows:
            found[start, end, line].append((ms, source, samples))
            if self.net.both_ways:
                found[end, start, line].append((ms, source, samples))
        return found


class _Side:
    """The cities at one end of measured paths, and how near they are to a place."""

    def __init__(self, net: RttNet, cities: set[int]) -> None:
        self.cities = sorted(cities)
        self.place = {city: place for place, city in enumerate(self.cities)}
        self._points = [Point(*net.cities[city][1:]) for city in self.cities]
        self._km: dict[Point, list[float]] = {}
        self._near: dict[tuple[Point, float], list[float]] = {}
        self._same: dict[Point, list[int]] = {}
        self._ones = [1.0] * len(self.cities)

    def same(self, point: Point) -> list[int]:
        """Return the cities that a place is in."""
        if point not in self._same:
            km = zip(self.cities, self._distances(point), strict=True)
            self._same[point] = [city for city, away in km if away < SAME_CITY_KM]
        return self._same[point]

    def near(self, point: Point, fades_km: float | None) -> list[float]:
        """Return how near each city is, from 1 to 0."""
        if fades_km is None:
            return self._ones
        key = (point, fades_km)
        if key not in self._near:
            self._near[key] = [math.exp(-km / fades_km) for km in self._distances(point)]
        return self._near[key]

    def _distances(self, point: Point) -> list[float]:
        if point not in self._km:
            self._km[point] = [distance_km(*point, *city) for city in self._points]
        return self._km[point]


@cache
def path_model(kind: str) -> PathModel:
    """Return the model of a kind of path."""
    return PathModel(rtt_net(kind))


def lengths(route: Route, start: Point, end: Point) -> list[float]:
    """Return what the mean is a sum over, in 1000 km."""
    if route == "core":
        return [distance_km(*start, *end) / 1000, core_km(start, end) / 1000]
    km = gateway_km if route == "gateway" else cable_km
    return [km(start, end) / 1000]


def _median(values: list[float]) -> float:
    """Return the median; the module of that name takes milliseconds to import."""
    ordered, half = sorted(values), len(values) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
