"""Symmetric positive definite systems, in plain Python: a fit is rare, and needs no library."""

from collections.abc import Iterable, Sequence
from operator import mul

__all__ = ["Triangle", "dot", "factor", "solve"]

Triangle = list[list[float]]
"""The lower half of a matrix with its diagonal, by rows."""


def dot(one: Iterable[float], other: Iterable[float]) -> float:
    """Return the sum of the products, as far as the shorter one goes."""
    total: float = sum(map(mul, one, other))
    return total


def factor(matrix: Sequence[Sequence[float]]) -> Triangle:
    """Return the Cholesky factor of a matrix, of which the lower half is read."""
    rows: Triangle = []
    for index, given in enumerate(matrix):
        row: list[float] = []
        for column in range(index):
            other = rows[column]
            row.append((given[column] - sum(map(mul, row, other))) / other[column])
        row.append((given[index] - sum(map(mul, row, row))) ** 0.5)
        rows.append(row)
    return rows


def solve(lower: Triangle, values: Sequence[float]) -> list[float]:
    """Return what the matrix of this factor makes ``values`` of."""
    found: list[float] = []
    for row, value in zip(lower, values, strict=True):
        found.append((value - sum(map(mul, row, found))) / row[-1])
    rest = found
    for index in range(len(lower) - 1, -1, -1):
        row = lower[index]
        rest[index] /= row[index]
        value = rest[index]
        for column in range(index):
            rest[column] -= row[column] * value
    return rest
