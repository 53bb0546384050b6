"""Errors on paths that a fit never saw: made again without a fifth of pairs, cities or sources."""

import zlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from warmfleet.catalog.rtt import City, RttNet
from warmfleet.network.fit import Shape, fit
from warmfleet.network.model import BAND_MS, PathModel
from warmfleet.network.routes import Point

FOLDS = 5
LEAST_ROWS = 20
"""Without a large source, too little may be left to learn from."""


class Row(NamedTuple):
    """One measured path: cities and line by their numbers."""

    start: int
    end: int
    line: int
    ms: float
    source: str


@dataclass(frozen=True)
class Held:
    """A row that was held out, and its error: measured minus estimated ms."""

    row: Row
    fold: int
    new_places: int
    error: float

    @property
    def part(self) -> float:
        """Return the error in parts of what bands are taken of."""
        return self.error / (self.row.ms - self.error + BAND_MS)


def by_pair(net: RttNet, shape: Shape, rows: Sequence[Row]) -> list[Held]:
    """Hold out every pair of cities, with all its rows."""
    names = _names(net.cities)
    return _held(net, shape, rows, lambda row: [tuple(sorted((names[row.start], names[row.end])))])


def by_city(net: RttNet, shape: Shape, rows: Sequence[Row]) -> list[Held]:
    """Hold out every city, with all its pairs; other cities of the fold are gone with it."""
    names = _names(net.cities)
    return _held(net, shape, rows, lambda row: [names[row.start], names[row.end]])


def by_source(net: RttNet, shape: Shape, rows: Sequence[Row]) -> list[Held]:
    """Hold out every source with what it measured from a city of the mainland."""
    names = _names(net.cities)
    return _held(
        net,
        shape,
        rows,
        lambda row: [(row.source, names[row.start] if net.route == "core" else "")],
    )


def _held(
    net: RttNet, shape: Shape, rows: Sequence[Row], keys: Callable[[Row], list[Hashable]]
) -> list[Held]:
    found = []
    for fold in range(FOLDS):
        out = [any(_fold(key) == fold for key in keys(row)) for row in rows]
        kept = [row for row, gone in zip(rows, out, strict=True) if not gone]
        gone = [row for row, gone in zip(rows, out, strict=True) if gone]
        if gone and len(kept) >= LEAST_ROWS:
            found += _errors(net, shape, kept, gone, fold)
    return found


def _errors(
    net: RttNet, shape: Shape, kept: Sequence[Row], gone: Sequence[Row], fold: int
) -> Iterator[Held]:
    made = fit(net.cities, [row[:4] for row in kept], shape)
    carried = tuple(
        (*row[:4], weight, 0, 1) for row, weight in zip(kept, made.weights, strict=True)
    )
    model = PathModel(net.model_copy(update={"rows": carried, "mean": made.mean}))
    for row in gone:
        ends = Point(*net.cities[row.start][1:]), Point(*net.cities[row.end][1:])
        ms = model.modelled(*ends, row.line)
        yield Held(row, fold, model.unknown(*ends), row.ms - ms)


def _fold(key: Hashable) -> int:
    """Return the fold of a pair, city or source: the same on every machine."""
    return zlib.crc32(repr(key).encode()) % FOLDS


def _names(cities: Sequence[City]) -> list[str]:
    return [name for name, *_ in cities]
