"""What published quantisations lose, by task."""

from functools import cache
from typing import Literal

from pydantic import Field

from warmfleet.catalog.load import read_table
from warmfleet.catalog.models import Row

__all__ = ["QualityLoss", "quality_losses"]


class QualityLoss(Row):
    """A score of one model before and after its weights were quantised, in the measure's unit."""

    model: str
    parameters: int = Field(gt=0)
    method: str = Field(description="as its author names it")
    bits: Literal[4, 8]
    task: Literal["chat", "code", "math", "extraction", "embedding", "instructions", "knowledge"]
    measure: str
    before: float
    after: float
    by: Literal["self", "second-hand"] = Field(description="who measured it")

    @property
    def delta(self) -> float:
        """Change of the score; negative: worse."""
        return self.after - self.before

    def __str__(self) -> str:
        """Return the finding as a plan quotes it."""
        return f"{self.model} in {self.method}: {self.measure} {self.delta:+.3g}"


@cache
def quality_losses() -> tuple[QualityLoss, ...]:
    """Return all findings of the catalog."""
    return tuple(
        QualityLoss.model_validate(row) for row in read_table("quality.yaml", "quality_losses")
    )
