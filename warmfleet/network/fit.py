"""Fit the model of one kind of path on measured ones.

Gaussian process regression whose noise grows for what fits badly, as if errors had the long tails
of Student's t: single snapshots of a network have outliers, and no row is dropped for its error.
"""

import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from warmfleet.catalog.rtt import City, Route, Term
from warmfleet.network.distance import distance_km
from warmfleet.network.linear import Triangle, dot, factor, solve
from warmfleet.network.model import lengths
from warmfleet.network.routes import Point

__all__ = ["Fit", "Shape", "fit"]

_TAILS = 4.0
"""Degrees of freedom of the errors."""

_ROUNDS = 6


class Shape(Struct, frozen=True):
    """What of a model is not fitted row by row."""

    both_ways: bool
    route: Route
    terms: tuple[Term, ...]
    between_lines: float
    noise_ms: float


class Fit(Struct, frozen=True):
    """What a fit found."""

    mean: tuple[float, ...]
    """As ``RttNet.mean``."""
    weights: tuple[float, ...]
    """Of each row."""


Path = tuple[int, int, int, float]
"""From and to (of cities), line, ms."""


def fit(cities: Sequence[City], paths: Sequence[Path], shape: Shape) -> Fit:
    """Return the weights of measured paths."""
    covariance = _covariance(cities, paths, shape)
    points = [Point(*city[1:]) for city in cities]
    design = [
        [1.0, *lengths(shape.route, points[one], points[other])] for one, other, _, _ in paths
    ]
    times = [ms for *_, ms in paths]
    noise = [shape.noise_ms**2] * len(paths)
    for _ in range(_ROUNDS):
        lower = factor(
            [[*row[:-1], row[-1] + more] for row, more in zip(covariance, noise, strict=True)]
        )
        mean = _mean(lower, design, times)
        rest = [ms - dot(mean, row) for ms, row in zip(times, design, strict=True)]
        weights = solve(lower, rest)
        noise = [
            shape.noise_ms**2 * (_TAILS + (weight * more / shape.noise_ms) ** 2) / (_TAILS + 1)
            for weight, more in zip(weights, noise, strict=True)
        ]
    return Fit(tuple(mean), tuple(weights))


def _covariance(cities: Sequence[City], paths: Sequence[Path], shape: Shape) -> Triangle:
    km = [[distance_km(*one[1:], *other[1:]) for other in cities] for one in cities]

    def near(fades_km: float | None) -> list[list[float]]:
        if fades_km is None:
            return [[1.0] * len(cities) for _ in cities]
        return [[math.exp(-length / fades_km) for length in row] for row in km]

    parts = [(ms**2, near(first), near(second)) for ms, first, second in shape.terms]
    rows: Triangle = []
    for index, (start, end, line, _) in enumerate(paths):
        seen = [(variance, one[start], other[end]) for variance, one, other in parts]
        if shape.both_ways:
            seen += [(variance, one[end], other[start]) for variance, one, other in parts]
        rows.append(
            [
                sum(variance * one[start] * other[end] for variance, one, other in seen)
                * (1.0 if line == of else shape.between_lines)
                for start, end, of, _ in paths[: index + 1]
            ]
        )
    return rows


def _mean(
    lower: Triangle, design: Sequence[Sequence[float]], times: Iterable[float]
) -> list[float]:
    columns = list(zip(*design, strict=True))
    solved = [solve(lower, column) for column in columns]
    values = list(times)
    normal = [[dot(one, other) for other in solved] for one in columns]
    return solve(factor(normal), [dot(column, values) for column in solved])
