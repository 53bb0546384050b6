"""Cards as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warmfleet.spec.cards import Cards

NAMES = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,8}( [A-Za-z0-9]{1,8}){0,3}", fullmatch=True)


@given(name=NAMES, count=st.none() | st.integers(1, 16))
def test_what_is_printed_parses_to_the_same(name: str, count: int | None) -> None:
    cards = Cards(name, count)

    assert Cards.parse(str(cards)) == cards


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        ("1 x RTX 3090", Cards("RTX 3090", 1)),
        ("8x H100 SXM5 80GB", Cards("H100 SXM5 80GB", 8)),
        (" 2 x 4090 ", Cards("4090", 2)),
        ("L40S", Cards("L40S")),
        ("4090", Cards("4090")),
        ("xpu", Cards("xpu")),
    ],
)
def test_ways_to_write_cards(text: str, cards: Cards) -> None:
    assert Cards.parse(text) == cards


@pytest.mark.parametrize("text", ["", "0 x L40S", "17 x L40S", "2 x ", "two x L40S!", "-1 x L40S"])
def test_what_is_no_cards(text: str) -> None:
    with pytest.raises(ValueError, match="needed cards such as 2 x RTX 4090"):
        Cards.parse(text)
