"""Who stays on the cards, and what the others cost."""

import pytest

from warmfleet.catalog.load_rate import load_rate
from warmfleet.sizing.packing import Part, Server
from warmfleet.sizing.residency import Residency, Tenant, reside

GIB = 2**30
CARD = Server(cards=1, memory=22 * GIB)


def _tenant(model: str, gib: float, rate: float, *, busy: float = 0.1, **more) -> Tenant:
    part = Part(model, 1, int(gib * GIB), busy)
    return Tenant(part, weights=int(0.8 * gib * GIB), rate=rate, **more)


def _kinds(found: tuple[Residency, ...]) -> dict[str, str]:
    return {row.tenant.part.model: row.kind for row in found}


def test_all_stay_where_all_fit() -> None:
    found = reside([_tenant("chat", 15, 1), _tenant("rank", 5, 3)], [CARD], [64 * GIB])

    assert _kinds(found) == {"chat": "resident", "rank": "resident"}
    assert {row.load_s for row in found} == {0}


def test_those_asked_for_least_take_turns_and_wait_in_memory() -> None:
    found = reside(
        [_tenant("chat", 15, 1), _tenant("rare", 6, 0.001), _tenant("nightly", 5, 0.002)],
        [CARD],
        [64 * GIB],
    )

    assert _kinds(found) == {"chat": "resident", "rare": "placeholder", "nightly": "placeholder"}
    rare = next(row for row in found if row.tenant.part.model == "rare")
    assert rare.load_s == pytest.approx(30 + 4.8 * GIB / 5.2e9)
    assert rare.host_memory == rare.tenant.weights
    assert "waits 31 s for 4.8 GiB" in rare.reason


def test_an_engine_that_sleeps_wakes_sooner_and_one_without_memory_loads_from_disk() -> None:
    asleep, busy = _tenant("asleep", 12, 0.001, sleeps=True), _tenant("chat", 12, 0.002)

    kept = reside([asleep, busy], [CARD], [64 * GIB])
    cold = reside([asleep, busy], [CARD], [0])

    seconds = {row.tenant.part.model: row.load_s for row in kept}
    assert seconds["asleep"] == pytest.approx(1 + 9.6 * GIB / 10e9)
    assert seconds["chat"] > 30
    assert _kinds(cold) == {"asleep": "in_turn", "chat": "in_turn"}
    assert {row.load_s for row in cold} == {load_rate("disk").seconds(int(0.8 * 12 * GIB))}


def test_turns_that_would_take_half_of_the_time_move_to_another_server() -> None:
    found = reside([_tenant("a", 12, 0.05), _tenant("b", 12, 0.04)], [CARD], [64 * GIB])

    assert _kinds(found) == {"a": "resident", "b": "moved"}
    assert "one server more" in found[-1].reason
    spread = reside([_tenant("a", 12, 0.05), _tenant("b", 12, 0.04)], [CARD, CARD], [0, 0])
    assert set(_kinds(spread).values()) == {"resident"}


def test_what_fits_on_no_server_is_moved() -> None:
    assert _kinds(reside([_tenant("a", 30, 0.001)], [CARD], [0])) == {"a": "moved"}
