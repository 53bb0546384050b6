"""Cards of one server, and servers that fail as a whole."""

import pytest

from warmfleet.plan.gpu_cards import assign_cards
from warmfleet.sizing.packing import Part, Server

GIB = 2**30
TWO = Server(cards=2, memory=40 * GIB)


def _part(model: str, gib: float, busy: float = 0.1, cards: int = 1) -> Part:
    return Part(model, cards, int(gib * GIB), busy)


def _assigned(parts: list[Part], server: Server = TWO) -> dict[str, tuple[int, ...]]:
    return {part.model: cards for part, cards in assign_cards(parts, server)}


def test_a_free_card_is_better_than_a_shared_one() -> None:
    assert _assigned([_part("a", 10), _part("b", 10)]) == {"a": (0,), "b": (1,)}


def test_the_busiest_has_a_card_for_itself_and_the_others_share() -> None:
    parts = [_part("embed", 2), _part("chat", 20, busy=0.3), _part("extract", 8)]

    assert _assigned(parts) == {"chat": (0,), "extract": (1,), "embed": (1,)}


def test_what_only_fits_tightly_is_packed_tightly() -> None:
    # Emptiest first would put one of 15 on each card, and leave no place for 40.
    parts = [_part("a", 15, busy=0.3), _part("b", 15, busy=0.3), _part("c", 40, busy=0.1)]

    found = _assigned(parts)

    assert found["a"] == found["b"] != found["c"]


def test_a_replica_over_several_cards_has_as_many() -> None:
    assert _assigned([_part("large", 30, cards=2), _part("small", 5)]) == {
        "large": (0, 1),
        "small": (0,),
    }


@pytest.mark.parametrize("count", [3, 5])
def test_those_that_take_turns_have_a_place_each_as_if_alone(count: int) -> None:
    parts = [_part(f"m{number}", 30) for number in range(count)]

    assert set(_assigned(parts).values()) == {(0,)}
