import pytest

from warmfleet.catalog.rtt import hubs
from warmfleet.network.distance import distance_km
from warmfleet.network.routes import Point, cable_km, core_km

FRANKFURT, LONDON = Point(50.1, 8.7), Point(51.5, -0.1)
SINGAPORE, TOKYO = Point(1.35, 103.8), Point(35.7, 139.7)
CAPE_TOWN, SAO_PAULO = Point(-33.9, 18.4), Point(-23.5, -46.6)
GUANGZHOU, URUMQI, BEIJING = Point(23.1, 113.3), Point(43.8, 87.6), Point(39.9, 116.4)


def test_no_path_is_shorter_than_the_distance() -> None:
    places = [FRANKFURT, LONDON, SINGAPORE, TOKYO, CAPE_TOWN, SAO_PAULO, URUMQI]
    for one in places:
        for other in places:
            assert cable_km(one, other) >= distance_km(*one, *other) - 1e-6
            assert core_km(one, other) >= distance_km(*one, *other) - 1e-6


def test_a_path_is_as_long_back() -> None:
    for one, other in ((CAPE_TOWN, TOKYO), (SAO_PAULO, SINGAPORE), (FRANKFURT, TOKYO)):
        assert cable_km(one, other) == pytest.approx(cable_km(other, one))


def test_neighbours_need_no_detour() -> None:
    assert cable_km(FRANKFURT, LONDON) == pytest.approx(distance_km(*FRANKFURT, *LONDON))


def test_oceans_without_a_cable_are_gone_around() -> None:
    # South Atlantic: by way of Europe or the Caribbean.
    direct = distance_km(*CAPE_TOWN, *SAO_PAULO)
    assert direct < 6500
    assert cable_km(CAPE_TOWN, SAO_PAULO) > 2 * direct


def test_the_mainland_meets_in_its_core() -> None:
    assert core_km(URUMQI, GUANGZHOU) == pytest.approx(distance_km(*URUMQI, *GUANGZHOU), rel=0.01)
    assert core_km(BEIJING, BEIJING) < 50


def test_all_hubs_are_joined_to_hubs_that_are_there() -> None:
    names = {hub.name for hub in hubs()}
    assert all(set(hub.cables) <= names for hub in hubs())
    joined = {name for hub in hubs() for name in hub.cables} | {h.name for h in hubs() if h.cables}
    assert joined == names
