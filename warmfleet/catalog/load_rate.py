"""How long weights take from where they wait to a card that answers."""

from functools import cache
from typing import Literal

from pydantic import Field

from warmfleet.catalog.load import read_table
from warmfleet.catalog.models import Row

__all__ = ["LoadRate", "Medium", "load_rate"]

Medium = Literal["disk", "page_cache", "shared_memory"]


class LoadRate(Row):
    """Time to load from one medium."""

    medium: Medium
    gb_per_s: float = Field(gt=0, description="10^9 bytes a second, to one card")
    start_s: float = Field(ge=0, description="of the engine, beside the copy")

    def seconds(self, weights_bytes: float) -> float:
        """Return the time until a model of so many bytes a card answers."""
        return self.start_s + weights_bytes / (self.gb_per_s * 1e9)


@cache
def load_rate(medium: Medium) -> LoadRate:
    """Return the row of a medium."""
    rows = (LoadRate.model_validate(row) for row in read_table("load_rates.yaml", "load_rates"))
    return next(row for row in rows if row.medium == medium)
