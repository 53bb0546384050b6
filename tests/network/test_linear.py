import random

import pytest

from warmfleet.network.linear import dot, factor, solve


def _matrix(size: int, seed: int) -> list[list[float]]:
    chance = random.Random(seed)  # noqa: S311 - the same each time
    rows = [[chance.gauss(0, 1) for _ in range(size)] for _ in range(size)]
    return [
        [dot(one, other) + (size if i == j else 0.0) for j, other in enumerate(rows)]
        for i, one in enumerate(rows)
    ]


@pytest.mark.parametrize("size", [1, 2, 7, 30])
def test_a_solution_gives_the_values_back(size: int) -> None:
    matrix = _matrix(size, size)
    values = [float(index + 1) for index in range(size)]

    found = solve(factor(matrix), values)

    assert [dot(row, found) for row in matrix] == pytest.approx(values)
