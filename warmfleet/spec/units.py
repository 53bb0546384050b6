"""Quantities as people write them: ``64 GB``, ``2k``, ``100 Mbps``, ``800 ms``, ``60%``, ``1.2x``.

Each parses, prints what it parses, and gives its own JSON Schema. Values are decimals: what was
written is what is compared, with no binary rounding.
"""

import re
from decimal import Decimal
from functools import total_ordering
from typing import Any, ClassVar, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from inference_app.problems import shown

__all__ = [
    "BitRate",
    "ByteRate",
    "ByteSize",
    "Duration",
    "Months",
    "Percentage",
    "Quantity",
    "Ratio",
    "TokenCount",
]

_LARGEST = Decimal(10) ** 24
"""Nothing that is rented here is larger; beyond it a number is a slip of the finger."""


@total_ordering
class Quantity:
    """A number with a unit; subclasses name the units and what one base unit is."""

    units: ClassVar[dict[str, Decimal]]
    """Written unit -> base units, in the order in which printing prefers them."""
    what: ClassVar[str]
    """For messages: what is needed, with an example."""
    whole: ClassVar[bool] = False
    """The base unit cannot be divided (bytes, tokens)."""
    bare: ClassVar[bool] = False
    """A number without a unit counts base units."""
    spaced: ClassVar[bool] = True
    """Printed with a space before the unit."""

    __slots__ = ("_value",)

    def __init__(self, value: Decimal | int) -> None:
        number = Decimal(value)
        if not number.is_finite() or number < 0 or number > _LARGEST:
            msg = f"found {shown(value)}; needed {self.what}"
            raise ValueError(msg)
        if self.whole and number != number.to_integral_value():
            msg = f"found {value}, which is not whole; needed {self.what}"
            raise ValueError(msg)
        self._value = number

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``NUMBER UNIT``; the space is optional, case counts only where it tells units apart.

        Raises:
            ValueError: one line with what was found and what is needed.
        """
        match = re.fullmatch(cls._pattern(), text.strip(), re.ASCII)
        unit = cls._unit(match["unit"]) if match else None
        if match is None or unit is None:
            msg = f"found {shown(text)}; needed {cls.what}"
            raise ValueError(msg)
        try:
            return cls(Decimal(match["number"]) * unit)
        except ValueError as error:
            msg = f"found {shown(text)}; needed {cls.what}"
            raise ValueError(msg) from error

    @property
    def value(self) -> Decimal:
        """The number of base units."""
        return self._value

    def __str__(self) -> str:
        for name, factor in self.units.items():
            number = self._value / factor
            # At most three decimals, and none lost: printing must not change the value.
            if number >= 1 and number * factor == self._value and number == round(number, 3):
                return f"{_plain(number)}{self._written(name)}"
        name, factor = min(self.units.items(), key=lambda item: item[1])
        return f"{_plain(self._value / factor)}{self._written(name)}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._value == other._value

    def __lt__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._value < other._value

    def __hash__(self) -> int:
        return hash((type(self), self._value))

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        del source, handler
        return core_schema.no_info_plain_validator_function(
            cls._validate,
            serialization=core_schema.plain_serializer_function_ser_schema(str),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        del schema, handler
        text: JsonSchemaValue = {"type": "string", "pattern": cls._schema_pattern()}
        written = {**text, "description": f"Needed: {cls.what}."}
        if not cls.bare:
            return written
        return {"anyOf": [text, {"type": "integer", "minimum": 0}], "description": cls.what}

    @classmethod
    def _validate(cls, found: Any) -> Self:
        try:
            if isinstance(found, cls):
                return found
            if isinstance(found, str):
                return cls.parse(found)
            if cls.bare and isinstance(found, int) and not isinstance(found, bool):
                return cls(found)
        except ValueError as error:
            raise PydanticCustomError("quantity", "{said}", {"said": str(error)}) from error
        said = f"found {shown(found)}; needed {cls.what}"
        raise PydanticCustomError("quantity", "{said}", {"said": said})

    @classmethod
    def _pattern(cls) -> str:
        return r"(?P<number>\d{1,25}(?:\.\d{1,6})?)\s*(?P<unit>[A-Za-z%/]*)"

    @classmethod
    def _schema_pattern(cls) -> str:
        names = "|".join(re.escape(name) for name in cls.units if name)
        bare = "?" if "" in cls.units else ""
        return rf"^\s*\d{{1,25}}(\.\d{{1,6}})?\s*({names}){bare}\s*$"

    @classmethod
    def _unit(cls, written: str) -> Decimal | None:
        if written in cls.units:
            return cls.units[written]
        folded = [name for name in cls.units if name.lower() == written.lower()]
        return cls.units[folded[0]] if len(folded) == 1 else None

    @classmethod
    def _written(cls, name: str) -> str:
        return f" {name}" if name and cls.spaced else name


class ByteSize(Quantity):
    """Bytes; ``GB`` is 10^9, ``GiB`` is 2^30."""

    units: ClassVar = {
        "TB": Decimal(10) ** 12,
        "GB": Decimal(10) ** 9,
        "GiB": Decimal(2) ** 30,
        "MB": Decimal(10) ** 6,
        "MiB": Decimal(2) ** 20,
        "KB": Decimal(1000),
        "KiB": Decimal(1024),
        "B": Decimal(1),
    }
    what = "a size such as 64 GB or 120 KB"
    whole = True

    @property
    def bytes(self) -> int:
        """Number of bytes."""
        return int(self._value)


class TokenCount(Quantity):
    """Tokens; ``2k`` is 2048, as context lengths are written."""

    units: ClassVar = {"M": Decimal(1024) ** 2, "k": Decimal(1024), "": Decimal(1)}
    what = "a token count such as 2k (2048) or 256"
    spaced = False
    whole = True
    bare = True

    @property
    def tokens(self) -> int:
        """Number of tokens."""
        return int(self._value)


class BitRate(Quantity):
    """Bits per second; ``Mbps`` is 10^6 bit/s."""

    units: ClassVar = {
        "Gbps": Decimal(10) ** 9,
        "Mbps": Decimal(10) ** 6,
        "kbps": Decimal(1000),
        "bps": Decimal(1),
    }
    what = "a rate such as 100 Mbps or 1 Gbps"

    @property
    def bits_per_s(self) -> Decimal:
        """Bits per second."""
        return self._value

    @property
    def mbps(self) -> Decimal:
        """Megabits per second."""
        return self._value / 10**6


class ByteRate(Quantity):
    """Bytes per second; ``GB/s`` is 10^9."""

    units: ClassVar = {
        "GB/s": Decimal(10) ** 9,
        "MB/s": Decimal(10) ** 6,
        "KB/s": Decimal(1000),
    }
    what = "a rate such as 3.2 GB/s or 550 MB/s"

    @property
    def gb_per_s(self) -> float:
        """10^9 bytes per second."""
        return float(self._value / 10**9)


class Duration(Quantity):
    """Time, in seconds."""

    units: ClassVar = {
        "d": Decimal(86400),
        "h": Decimal(3600),
        "min": Decimal(60),
        "s": Decimal(1),
        "ms": Decimal("0.001"),
        "us": Decimal("0.000001"),
    }
    what = "a time such as 800 ms, 60 s or 5 min"

    @property
    def seconds(self) -> float:
        """Seconds."""
        return float(self._value)


class Months(Quantity):
    """Time as leases count it: whole months."""

    units: ClassVar = {
        "months": Decimal(1),
        "month": Decimal(1),
        "years": Decimal(12),
        "year": Decimal(12),
    }
    what = "months such as 12 months or 1 year"
    whole = True

    @property
    def months(self) -> int:
        """Number of months."""
        return int(self._value)


class Percentage(Quantity):
    """A share in percent."""

    units: ClassVar = {"%": Decimal(1)}
    what = "a percentage such as 60% or 99.9%"
    spaced = False

    @property
    def percent(self) -> Decimal:
        """60 for 60%."""
        return self._value

    @property
    def fraction(self) -> float:
        """0.6 for 60%."""
        return float(self._value / 100)


class Ratio(Quantity):
    """One value as a multiple of another."""

    units: ClassVar = {"x": Decimal(1)}
    what = "a ratio such as 1.2x"
    spaced = False

    @property
    def factor(self) -> float:
        """1.2 for 1.2x."""
        return float(self._value)


def _plain(number: Decimal) -> str:
    """Write a decimal without exponent and without trailing zeros."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
