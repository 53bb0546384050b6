"""The fit, and how it does on places and pairs that it never saw."""

from collections.abc import Callable

import pytest

from warmfleet.catalog.rtt import Measured, RttNet, rtt_net
from warmfleet.network.distance import distance_km
from warmfleet.network.fit import Shape, fit
from warmfleet.network.model import PathModel
from warmfleet.network.routes import Point


def _shape(net: RttNet) -> Shape:
    return Shape(net.both_ways, net.route, net.terms, net.between_lines, net.noise_ms)


def _point(net: RttNet, city: int) -> Point:
    return Point(*net.cities[city][1:])


def _without(net: RttNet, out: Callable[[Measured], bool]) -> PathModel:
    """Return the model fitted again without some rows."""
    kept = [row for row in net.rows if not out(row)]
    found = fit(net.cities, [row[:4] for row in kept], _shape(net))
    rows = tuple(
        (*row[:4], weight, *row[5:]) for row, weight in zip(kept, found.weights, strict=True)
    )
    return PathModel(net.model_copy(update={"rows": rows, "mean": found.mean}))


def test_the_carried_weights_are_those_of_the_carried_rows() -> None:
    net = rtt_net("mainland")

    found = fit(net.cities, [row[:4] for row in net.rows], _shape(net))

    assert found.mean == pytest.approx(net.mean, abs=1e-4)
    assert found.weights == pytest.approx([row[4] for row in net.rows], abs=1e-6)


# Base and ms a 1000 km of the straight line through the rows that are carried.
@pytest.mark.parametrize(
    ("kind", "line", "median_ms"),
    [("mainland", (5.8, 20.02), 4.5), ("backbone", (9.3, 15.39), 8.0)],
)
def test_the_band_holds_truths_of_places_that_the_fit_never_saw(
    kind: str, line: tuple[float, float], median_ms: float
) -> None:
    net = rtt_net(kind)
    away = set(range(0, len(net.cities), 5))
    model = _without(net, lambda row: bool(away & {*row[:2]}))

    errors, of_the_line, within = [], [], []
    for row in net.rows:
        if len(away & {*row[:2]}) == 1 and row[2] == 0:
            ends = _point(net, row[0]), _point(net, row[1])
            found = model.answer(*ends, net.lines[row[2]])
            errors.append(abs(found.ms - row[3]))
            of_the_line.append(
                abs(line[0] + line[1] * distance_km(*ends[0], *ends[1]) / 1000 - row[3])
            )
            within.append(found.low <= row[3] <= found.high)
            assert not found.measured

    assert len(errors) > 25
    assert sorted(errors)[len(errors) // 2] < median_ms
    assert sum(errors) < 1.2 * sum(of_the_line)  # the line has seen these rows
    # 80 is promised; with a fifth of the cities gone, fewer are near than in the table.
    assert sum(within) / len(within) > 0.72


def test_one_wild_row_moves_little() -> None:
    net = rtt_net("mainland")
    paths = [row[:4] for row in net.rows]
    wild = [(*paths[0][:3], paths[0][3] + 500), *paths[1:]]
    calm, shaken = (
        PathModel(
            net.model_copy(
                update={
                    "mean": found.mean,
                    "rows": tuple(
                        (*row[:4], weight, *row[5:])
                        for row, weight in zip(net.rows, found.weights, strict=True)
                    ),
                }
            )
        )
        for found in (fit(net.cities, rows, _shape(net)) for rows in (paths, wild))
    )
    beijing, chengdu = Point(39.9, 116.4), Point(30.7, 104.1)
    assert abs(calm.modelled(beijing, chengdu, 0) - shaken.modelled(beijing, chengdu, 0)) < 3
