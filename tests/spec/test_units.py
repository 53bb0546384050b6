import re
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from warmfleet.spec.units import (
    BitRate,
    ByteRate,
    ByteSize,
    Duration,
    Percentage,
    Quantity,
    Ratio,
    TokenCount,
)

KINDS = [BitRate, ByteRate, ByteSize, Duration, Percentage, Ratio, TokenCount]


@pytest.mark.parametrize(
    ("kind", "text", "base", "printed"),
    [
        (ByteSize, "64 GB", 64 * 10**9, "64 GB"),
        (ByteSize, "120KB", 120_000, "120 KB"),
        (ByteSize, "1.5 GiB", 1_610_612_736, "1.5 GiB"),
        (ByteSize, "64 gb", 64 * 10**9, "64 GB"),
        (ByteSize, "0 B", 0, "0 B"),
        (TokenCount, "2k", 2048, "2k"),
        (TokenCount, "2048", 2048, "2k"),
        (TokenCount, "256", 256, "256"),
        (TokenCount, "1.5k", 1536, "1.5k"),
        (BitRate, "100 Mbps", 10**8, "100 Mbps"),
        (BitRate, "1gbps", 10**9, "1 Gbps"),
        (ByteRate, "3.2 GB/s", 3_200_000_000, "3.2 GB/s"),
        (ByteRate, "550MB/s", 550_000_000, "550 MB/s"),
        (ByteRate, "0.3 MB/s", 300_000, "300 KB/s"),
        (Duration, "800 ms", Decimal("0.8"), "800 ms"),
        (Duration, "90 s", 90, "1.5 min"),
        (Duration, "61 s", 61, "61 s"),
        (Duration, "2 h", 7200, "2 h"),
        (Percentage, "99.95%", Decimal("99.95"), "99.95%"),
        (Ratio, "1.2x", Decimal("1.2"), "1.2x"),
    ],
)
def test_written_as_people_write(
    kind: type[Quantity], text: str, base: Decimal, printed: str
) -> None:
    quantity = kind.parse(text)

    assert (quantity.value, str(quantity)) == (base, printed)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", ["", "x5", "-1 s", "1e3 B", "1,5 GB", "5 parsec", "1 2 s", "nan"])
def test_nonsense_is_refused_with_what_is_needed(kind: type[Quantity], text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"found {text!r}; needed {kind.what}")):
        kind.parse(text)


def test_bytes_and_tokens_are_whole() -> None:
    with pytest.raises(ValueError, match="needed a size"):
        ByteSize.parse("1.5 B")
    with pytest.raises(ValueError, match="needed a token count"):
        TokenCount.parse("2.3k")


def _written(kind: type[Quantity]) -> st.SearchStrategy[str]:
    numbers = st.decimals(min_value=0, max_value=999_999_999_999, places=3).map(
        lambda number: f"{number:f}"
    )
    return st.tuples(numbers, st.sampled_from(list(kind.units)), st.sampled_from(["", " "])).map(
        lambda parts: f"{parts[0]}{parts[2]}{parts[1]}"
    )


@given(st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind), _written(kind))))
@example((ByteSize, "999999999999 KiB"))  # printed in KB it has one digit more
def test_what_is_printed_parses_to_the_same(case: tuple[type[Quantity], str]) -> None:
    kind, text = case
    try:
        quantity = kind.parse(text)
    except ValueError:
        return  # not whole, or beyond what is rented

    assert kind.parse(str(quantity)) == quantity
    assert TypeAdapter(kind).validate_json(TypeAdapter(kind).dump_json(quantity)) == quantity


@given(st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind), _written(kind))))
def test_what_parses_is_what_the_schema_allows(case: tuple[type[Quantity], str]) -> None:
    kind, text = case
    schema = TypeAdapter(kind).json_schema()
    pattern = schema.get("pattern") or schema["anyOf"][0]["pattern"]

    assert re.search(pattern, text)


@given(
    st.sampled_from(KINDS),
    st.integers(min_value=0, max_value=10**12),
    st.integers(min_value=0, max_value=10**12),
)
def test_order_is_that_of_base_units(kind: type[Quantity], one: int, other: int) -> None:
    assert (kind(one) < kind(other)) == (one < other)
    assert (kind(one) == kind(other)) == (one == other)
    assert (hash(kind(one)) == hash(kind(other))) or one != other


def test_kinds_do_not_compare() -> None:
    assert Ratio(1) != Percentage(1)
    with pytest.raises(TypeError):
        _ = Ratio(1) < Percentage(2)


@pytest.mark.parametrize("found", [800, 1.5, True, None, [], "800"])
def test_a_number_alone_is_no_time(found: object) -> None:
    with pytest.raises(ValidationError, match="needed a time such as"):
        TypeAdapter(Duration).validate_python(found)


def test_a_whole_number_alone_is_a_token_count() -> None:
    assert TypeAdapter(TokenCount).validate_python(256).tokens == 256
    with pytest.raises(ValidationError, match="needed a token count"):
        TypeAdapter(TokenCount).validate_python(True)
