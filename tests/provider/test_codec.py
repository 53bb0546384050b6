import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pulumi.provider.experimental.property_value import Computed, PropertyValue
from pulumi.runtime import rpc

from warmfleet.provider.codec import UNKNOWN, decode, encode, secret_names, unknown_names

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**50), 2**50) | st.text(max_size=4),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)


@settings(max_examples=50)
@given(st.dictionaries(st.text(max_size=4), plain, max_size=3))
def test_plain_values_survive_the_wire(values):
    assert decode(encode(values)) == values


@pytest.mark.parametrize(("sent", "received"), [(5, 5), (5.0, 5), (1.5, 1.5), (True, True)])
def test_whole_numbers_are_integers_again(sent, received):
    [value] = decode(encode({"n": sent})).values()
    assert value == received
    assert type(value) is type(received)


def test_numbers_go_out_as_floats():
    assert encode({"n": 5})["n"].value == 5.0
    assert isinstance(encode({"n": 5})["n"].value, float)


@pytest.mark.parametrize(
    "value",
    [
        PropertyValue(rpc.UNKNOWN),
        PropertyValue(Computed()),
        PropertyValue(rpc.UNKNOWN, is_secret=True),
        PropertyValue([PropertyValue("known"), PropertyValue(rpc.UNKNOWN)]),
        PropertyValue({"key": PropertyValue(rpc.UNKNOWN)}),
    ],
)
def test_a_value_with_an_unknown_part_is_unknown(value):
    decoded = decode({"a": value, "b": PropertyValue("x")})
    assert decoded == {"a": UNKNOWN, "b": "x"}
    assert unknown_names(decoded) == {"a"}


def test_unknown_goes_out_as_the_engine_writes_it():
    assert encode({"a": UNKNOWN})["a"] == PropertyValue(rpc.UNKNOWN)


def test_secrets_are_marked_on_the_way_out_and_found_on_the_way_in():
    encoded = encode({"password": "canary", "name": "x"}, secrets={"password"})
    assert encoded["password"].is_secret
    assert not encoded["name"].is_secret
    assert secret_names(encoded) == {"password"}


def test_a_nested_secret_makes_its_property_secret():
    nested = PropertyValue({"inner": PropertyValue("canary", is_secret=True)})
    assert secret_names({"outer": nested}) == {"outer"}
