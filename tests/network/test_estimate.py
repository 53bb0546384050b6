"""Round-trip times of places and regions."""

import pytest

from warmfleet.catalog.load import load_catalog
from warmfleet.network.distance import distance_km
from warmfleet.network.estimate import estimate

CATALOG = load_catalog()
PLACES = {row.id: row for row in CATALOG.places}
REGIONS = {row.id: row for row in CATALOG.regions}


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
def test_every_pair_has_a_figure_within_its_bounds(place) -> None:
    for region in CATALOG.regions:
        found = estimate(place, region, CATALOG)
        assert 0 <= found.low_ms <= found.ms <= found.high_ms < 1500
        assert found.source
