"""The only place that knows ``PropertyValue``: plain Python values on our side of it.

Whole numbers become ``int`` on the way in, since the wire only has floats, and floats again on the
way out, since ``PropertyValue(5)`` raises. What is not known before an update is ``UNKNOWN``.
"""

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import Any, Final

from pulumi.provider.experimental.property_value import Computed, PropertyValue
from pulumi.runtime import rpc

__all__ = ["UNKNOWN", "Unknown", "decode", "encode", "secret_names", "unknown_names"]


class Unknown(Enum):
    """Type of ``UNKNOWN``."""

    UNKNOWN = "unknown until the update runs"


UNKNOWN: Final = Unknown.UNKNOWN


def decode(properties: Mapping[str, PropertyValue]) -> dict[str, Any]:
    """Return plain values; a value with an unknown part is ``UNKNOWN`` as a whole."""
    return {name: _decode(value) for name, value in properties.items()}


def encode(values: Mapping[str, Any], secrets: Collection[str] = ()) -> dict[str, PropertyValue]:
    """Return wire values; those named in ``secrets`` are marked secret."""
    return {
        name: _encode(value).with_secret(True) if name in secrets else _encode(value)
        for name, value in values.items()
    }


def secret_names(properties: Mapping[str, PropertyValue]) -> set[str]:
    """Return the names of properties that are secret, or hold a secret."""
    return {name for name, value in properties.items() if value.contains_secret()}


def unknown_names(values: Mapping[str, Any]) -> set[str]:
    """Return the names of decoded properties that are not known yet."""
    return {name for name, value in values.items() if value is UNKNOWN}


def _decode(value: PropertyValue) -> Any:
    plain = value.value
    if isinstance(plain, Computed) or plain == rpc.UNKNOWN:
        return UNKNOWN
    if isinstance(plain, float):
        return int(plain) if plain.is_integer() else plain
    if isinstance(plain, Mapping):
        items = {key: _decode(item) for key, item in plain.items()}
        return UNKNOWN if UNKNOWN in items.values() else items
    if isinstance(plain, Sequence) and not isinstance(plain, str):
        entries = [_decode(item) for item in plain]
        return UNKNOWN if UNKNOWN in entries else entries
    return plain


def _encode(value: Any) -> PropertyValue:
    if value is UNKNOWN:
        return PropertyValue(rpc.UNKNOWN)
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return PropertyValue(value)
    if isinstance(value, int | float):
        return PropertyValue(float(value))
    if isinstance(value, Mapping):
        return PropertyValue({str(key): _encode(item) for key, item in value.items()})
    return PropertyValue([_encode(item) for item in value])
