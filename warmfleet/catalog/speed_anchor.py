"""Published speeds that the roofline is checked against."""

from functools import cache
from typing import Literal, Self

from pydantic import Field, model_validator

from warmfleet.catalog.load import read_table
from warmfleet.catalog.models import Row

__all__ = ["SpeedAnchor", "speed_anchors"]


class SpeedAnchor(Row):
    """One published speed of a model on a host."""

    model: str
    precision: str
    gpu: str
    cards: int = Field(gt=0, description="tensor parallel")
    prompt_tokens: int | None = Field(default=None, gt=0)
    output_tokens: int | None = Field(default=None, gt=0)
    requests: int | None = Field(default=None, gt=0, description="at a time")
    tokens_per_s: float | None = Field(default=None, gt=0, description="answers, all together")
    step_ms: float | None = Field(default=None, gt=0, description="time of an output token")
    first_token_ms: float | None = Field(default=None, gt=0)
    engine: str
    by: Literal["log", "self", "second-hand"] = Field(description="who measured it")
    note: str = ""

    @model_validator(mode="after")
    def _one_figure(self) -> Self:
        figures = (self.tokens_per_s, self.step_ms, self.first_token_ms)
        if sum(figure is not None for figure in figures) != 1:
            msg = f"{self.model} on {self.gpu}: needed one figure"
            raise ValueError(msg)
        return self


@cache
def speed_anchors() -> tuple[SpeedAnchor, ...]:
    """Return all published speeds of the catalog."""
    return tuple(
        SpeedAnchor.model_validate(row) for row in read_table("speed_anchors.yaml", "speed_anchors")
    )
