"""What all rows of the catalog share: they are facts, and name their source."""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

__all__ = ["Basis", "Row", "Text"]

Text = Annotated[str, Field(min_length=1), BeforeValidator(lambda text: str(text).strip())]


Basis = Literal["measured", "published", "roofline", "estimate"]
"""Where a figure comes from: this project's own measurement, others' figures, physics, a guess."""


class Row(BaseModel):
    """A fact with its source."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    source: Text = Field(description="where the facts of this row come from")
