"""GPUs as people write them: how many, and of which card."""

import re
from typing import Any, ClassVar, Self

from msgspec import Struct
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from inference_app.problems import shown
from warmfleet.spec.fields import bound

__all__ = ["Cards"]

_MAX_CARDS = 16
"""Cards of one server: no server that is sold has more."""


class Cards(Struct, frozen=True):
    """``2 x RTX 4090``: cards of one server; the name is looked up in the catalog."""

    what: ClassVar[str] = "cards such as 2 x RTX 4090, or a card such as RTX 4090"

    name: str
    count: int | None = None
    """None: the text names a card alone."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``COUNT x NAME`` or ``NAME``.

        Raises:
            ValueError: one line with what was found and what is needed.
        """
        match = re.fullmatch(
            r"(?:(?P<count>\d{1,4})\s*x\s*)?(?P<name>(?!\d+\s*x\s*$)[A-Za-z0-9][\w .+/()-]{0,60})",
            text.strip(),
            re.ASCII,
        )
        count = int(match["count"]) if match and match["count"] else None
        if match is None or count == 0 or (count or 0) > _MAX_CARDS:
            most = f", at most {_MAX_CARDS}" if (count or 0) > _MAX_CARDS else ""
            msg = f"found {shown(text)}; needed {cls.what}{most}"
            raise ValueError(msg)
        return cls(match["name"].strip(), count)

    def __str__(self) -> str:
        return self.name if self.count is None else f"{self.count} x {self.name}"

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[Any], handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        del source, handler
        return core_schema.no_info_plain_validator_function(
            cls._validate, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        del schema, handler
        return {"type": "string", "description": f"Needed: {cls.what}."}

    @classmethod
    def _validate(cls, found: Any) -> Self:
        if isinstance(found, cls):
            return found
        if not isinstance(found, str):
            raise bound(f"found {shown(found)}; needed {cls.what}")
        try:
            return cls.parse(found)
        except ValueError as error:
            raise bound(str(error)) from error
