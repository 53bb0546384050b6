"""Replicas of several models on few servers."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warmfleet.sizing.packing import BUSY_SHARE, Part, Server, pack, place

GIB = 2**30
ONE = Server(cards=1, memory=24 * GIB)
EIGHT = Server(cards=8, memory=80 * GIB)


def _part(model: str, gib: float, busy: float = 0.1, cards: int = 1) -> Part:
    return Part(model, cards, int(gib * GIB), busy)


@pytest.mark.parametrize(
    ("parts", "servers"),
    [
        ([_part("a", 10), _part("b", 10)], 1),
        ([_part("a", 14), _part("b", 14)], 2),
        # Largest first would take three: 12 + 8, 10 + 8, 6 + 4.
        ([_part("a", 12), _part("b", 10), _part("c", 8), _part("d", 8), _part("e", 6),
          _part("f", 4)], 2),
        ([_part("a", 2, busy=0.5), _part("b", 2, busy=0.5)], 2),
        ([_part("a", 2), _part("a", 2)], 2),
    ],
    ids=["together", "memory", "exact", "load", "replicas apart"],
)  # fmt: skip
def test_as_few_servers_as_hold_them(parts: list[Part], servers: int) -> None:
    packing = pack(parts, ONE)

    assert packing is not None
    assert len(packing.servers) == servers
    assert packing.exact


def test_a_replica_over_several_cards_stays_on_one_server() -> None:
    packing = pack([_part("large", 70, cards=4), _part("other", 70, cards=4)], EIGHT)
    apart = pack([_part("large", 70, cards=8), _part("small", 15)], EIGHT)

    assert packing is not None
    assert len(packing.servers) == 1
    assert apart is not None
    assert len(apart.servers) == 2


def test_as_many_replicas_share_a_server_as_may_fail_together() -> None:
    eight = [Part("chat", 1, 40 * GIB, 0.7, together=4)] * 8

    packing = pack(eight, EIGHT)

    assert packing is not None
    assert [len(on) for on in packing.servers] == [4, 4]


def test_what_fits_nowhere_cannot_be_packed() -> None:
    assert pack([_part("a", 25)], ONE) is None
    assert pack([_part("a", 5, cards=2)], ONE) is None


def test_given_servers_keep_what_comes_first() -> None:
    parts = [_part("busy", 20), _part("quiet", 20), _part("rare", 20)]

    on, left = place(parts, [ONE, ONE])

    assert [[part.model for part in one] for one in on] == [["busy"], ["quiet"]]
    assert [part.model for part in left] == ["rare"]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.builds(
            _part,
            st.sampled_from("abcdefgh"),
            st.integers(1, 24),
            st.floats(0.01, 0.8),
        ),
        min_size=1,
        max_size=14,
    )
)
def test_no_server_is_overfull_and_nothing_is_lost(parts: list[Part]) -> None:
    packing = pack(parts, ONE)

    assert packing is not None
    for on in packing.servers:
        assert sum(part.memory for part in on) <= ONE.memory
        assert sum(part.busy for part in on) <= BUSY_SHARE + 1e-6
        assert len({part.model for part in on}) == len(on)
    assert sorted(map(id, parts)) == sorted(id(part) for on in packing.servers for part in on)
    assert len(packing.servers) >= packing.least
    assert packing.least >= math.ceil(sum(part.memory for part in parts) / ONE.memory)
