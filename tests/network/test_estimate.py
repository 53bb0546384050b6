"""Round-trip times of places and regions."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warmfleet.catalog.load import load_catalog
from warmfleet.catalog.models import Catalog, Place, ProbedPath, Region
from warmfleet.catalog.rtt import rtt_net
from warmfleet.network.distance import distance_km
from warmfleet.network.estimate import PathLine, between_regions, estimate, estimate_path
from warmfleet.network.routes import Point

CATALOG = load_catalog()
PLACES = {row.id: row for row in CATALOG.places}
REGIONS = {row.id: row for row in CATALOG.regions}
LIGHT_KM_PER_MS = 102.0
BETTER_AND_ORDINARY: tuple[PathLine, ...] = ("premium", "ordinary")


def probed(probes: dict[ProbedPath, float]) -> Catalog:
    return CATALOG.model_copy(update={"probes": probes})


def test_distance_is_that_of_the_globe() -> None:
    assert distance_km(39.9075, 116.3972, 23.1167, 113.25) == pytest.approx(1888, abs=10)


@pytest.mark.parametrize(
    ("place", "region", "kind"),
    [
        ("CN-GD", "beijing", "mainland"),
        ("CN-GD", "hongkong", "hongkong"),
        ("CN-HK", "shenzhen", "hongkong"),
        ("CN-GD", "frankfurt", "cross-border"),
        ("DE", "shanghai", "cross-border"),
        ("CN-TW", "tokyo", "public-internet"),
        ("CN-HK", "frankfurt", "public-internet"),
    ],
)
def test_a_path_has_a_kind(place: str, region: str, kind: str) -> None:
    assert estimate(PLACES[place], REGIONS[region], CATALOG).kind == kind


@pytest.mark.parametrize("place", CATALOG.places, ids=lambda row: row.id)
def test_every_pair_has_a_figure_within_its_band(place: Place) -> None:
    for region in CATALOG.regions:
        found = estimate(place, region, CATALOG)
        km = distance_km(place.latitude, place.longitude, region.latitude, region.longitude)
        assert 0 <= found.low_ms <= found.ms <= found.high_ms < 1500
        assert found.high_ms > found.low_ms
        assert found.ms >= km / LIGHT_KM_PER_MS - 1e-9
        assert found.source


@given(
    st.floats(-60, 75), st.floats(-180, 180), st.floats(-60, 75), st.floats(-180, 180),
    st.sampled_from(["cloud-backbone", "public-internet"]),
)  # fmt: skip
def test_any_two_points_have_a_figure_and_the_same_one_back(
    one: float, two: float, three: float, four: float, kind: str
) -> None:
    start, end = Point(one, two), Point(three, four)

    found = estimate_path(start, end, kind)  # type: ignore[arg-type]

    assert distance_km(*start, *end) / LIGHT_KM_PER_MS - 1e-9 <= found.ms < 1500
    assert 0 <= found.low_ms <= found.ms <= found.high_ms
    assert estimate_path(end, start, kind).ms == pytest.approx(found.ms)  # type: ignore[arg-type]


def test_what_was_measured_is_told_as_it_was() -> None:
    net = rtt_net("backbone")
    start, end, line, ms, _, source, _ = next(
        row for row in net.rows if [other[:2] for other in net.rows].count(row[:2]) == 1
    )

    found = estimate_path(
        Point(*net.cities[start][1:]), Point(*net.cities[end][1:]), "cloud-backbone"
    )

    assert net.lines[line] == "any"
    assert (found.basis, found.ms, found.source) == ("measured", ms, net.sources[source])
    assert found.low_ms < ms < found.high_ms


def test_a_single_probe_is_no_table() -> None:
    net = rtt_net("mainland")
    pairs = [frozenset(row[:2]) for row in net.rows]
    start, end, line, ms, *_ = next(
        row
        for row, pair in zip(net.rows, pairs, strict=True)
        if pairs.count(pair) == 1 and row[2] == 0 and row[-1] == 1
    )

    found = estimate_path(
        Point(*net.cities[start][1:]), Point(*net.cities[end][1:]), "mainland", line=net.lines[line]
    )

    assert found.basis == "modelled"
    assert found.ms != ms


def test_probes_of_the_user_come_before_everything() -> None:
    catalog = probed({("CN-GD", "tokyo", None): 61.0})

    found = estimate(PLACES["CN-GD"], REGIONS["tokyo"], catalog)
    other = estimate(PLACES["CN-GD"], REGIONS["seoul"], catalog)

    assert (found.basis, found.ms) == ("probed", pytest.approx(61.0))
    assert found.low_ms < 61 < found.high_ms
    assert other.basis != "probed"


@pytest.mark.parametrize(
    ("probes", "carrier", "ms"),
    [
        ({None: 61.0, "china-telecom": 50.0}, "china-telecom", 50.0),
        ({None: 61.0, "china-telecom": 50.0}, "china-unicom", 61.0),
        ({None: 61.0, "china-telecom": 50.0}, None, 61.0),
        # Only those of carriers: by their shares among the users, 50.6 and 17.8 %.
        ({"china-mobile": 70.0, "china-unicom": 50.0}, None, 64.795),
        ({"china-mobile": 70.0, "china-unicom": 50.0}, "china-telecom", 64.795),
    ],
)
def test_probes_of_a_carrier_are_of_its_users(
    probes: dict[str | None, float], carrier: str | None, ms: float
) -> None:
    catalog = probed({("CN-GD", "tokyo", of): value for of, value in probes.items()})

    found = estimate(PLACES["CN-GD"], REGIONS["tokyo"], catalog, carrier=carrier)

    assert (found.basis, found.ms) == ("probed", pytest.approx(ms, abs=0.001))


@pytest.mark.parametrize("line", ["ordinary", "premium"])
def test_other_lines_differ_from_probes_as_the_model_says(line: PathLine) -> None:
    place, region = PLACES["CN-GD"], REGIONS["tokyo"]
    catalog = probed({("CN-GD", "tokyo", None): 61.0})

    found = estimate(place, region, catalog, line=line)

    ratio = estimate(place, region, CATALOG, line=line).ms / estimate(place, region, CATALOG).ms
    assert found.ms == pytest.approx(61 * ratio)
    assert found.basis == "modelled"
    assert found.source.endswith("scaled by probes of the user")


@given(st.sampled_from(CATALOG.places), st.sampled_from(CATALOG.regions), st.floats(1, 1000))
def test_a_slower_probe_is_never_a_faster_estimate(place: Place, region: Region, ms: float) -> None:
    for line in ("bgp", "ordinary", "premium"):
        found, slower = (
            estimate(place, region, probed({(place.id, region.id, None): value}), line=line)
            for value in (ms, ms + 1)
        )
        assert found.ms < slower.ms
        assert found.low_ms <= found.ms <= found.high_ms


def test_a_better_line_over_the_border_is_faster_where_it_was_measured() -> None:
    # China-optimised hosts of Hong Kong and Tokyo; elsewhere little is known of such lines.
    for place in ("CN-GD", "CN-SH", "CN-BJ", "CN-SC"):
        for region in ("hongkong", "tokyo"):
            ms = [
                estimate(PLACES[place], REGIONS[region], CATALOG, line=line).ms
                for line in BETTER_AND_ORDINARY
            ]
            assert ms[0] < ms[1]


def test_crossing_to_another_carrier_costs_milliseconds() -> None:
    pairs = [(PLACES["CN-JS"], REGIONS["beijing"]), (PLACES["CN-GD"], REGIONS["shanghai"])]
    for place, region in pairs:
        same = estimate(place, region, CATALOG, line="same-carrier").ms
        cross = estimate(place, region, CATALOG, line="cross-carrier").ms
        assert 2 < cross - same < 20


def test_carriers_differ_over_the_border_on_ordinary_lines_alone() -> None:
    def ms(carrier: str | None, region: str, line: str) -> float:
        return estimate(
            PLACES["CN-GD"],
            REGIONS[region],
            CATALOG,
            carrier=carrier,
            line=line,  # type: ignore[arg-type]
        ).ms

    # Measured in all provinces: Telecom's way to Singapore was the longest.
    assert (
        ms("china-telecom", "singapore", "ordinary")
        > ms("china-mobile", "singapore", "ordinary") + 50
    )
    assert ms("china-telecom", "shanghai", "bgp") == ms("china-mobile", "shanghai", "bgp")
    # All carriers together are between them.
    one, two, three = (ms(row.id, "singapore", "ordinary") for row in CATALOG.carriers)
    assert min(one, two, three) < ms(None, "singapore", "ordinary") < max(one, two, three)


def test_regions_reach_each_other_over_a_backbone() -> None:
    found = between_regions(REGIONS["frankfurt"], REGIONS["tokyo"])
    back = between_regions(REGIONS["tokyo"], REGIONS["frankfurt"])

    assert found.kind == "cloud-backbone"
    assert found.ms == pytest.approx(back.ms)
    assert between_regions(REGIONS["tokyo"], REGIONS["beijing"]).kind == "cross-border"
    assert between_regions(REGIONS["shanghai"], REGIONS["beijing"]).kind == "mainland"


def test_near_users_are_nearer() -> None:
    for place, near, far in (
        ("CN-GD", "guangzhou", "beijing"),
        ("CN-HL", "beijing", "guangzhou"),
        ("DE", "frankfurt", "singapore"),
        ("JP", "tokyo", "london"),
    ):
        one, other = (estimate(PLACES[place], REGIONS[name], CATALOG) for name in (near, far))
        assert one.high_ms < other.low_ms


def test_a_plan_does_not_wait_for_it() -> None:
    def all_pairs() -> float:
        begun = time.process_time()
        for place in CATALOG.places[:31:8]:
            for region in CATALOG.regions:
                estimate(place, region, CATALOG)
        return time.process_time() - begun

    # Four places and all regions, warm; 8 ms where nothing else runs.
    assert min(all_pairs() for _ in range(3)) < 0.1


@pytest.mark.parametrize("region", CATALOG.regions, ids=lambda row: row.id)
def test_no_region_is_nearer_than_one_that_users_live_in(region: Region) -> None:
    at_home = next((p for p in CATALOG.places if p.mainland and p.capital == region.city), None)
    if at_home is not None:
        here = estimate(at_home, region, CATALOG).ms
        for other in CATALOG.regions:
            assert here <= estimate(at_home, other, CATALOG).ms + 5
