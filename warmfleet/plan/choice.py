"""A value together with the reason for it."""

from collections.abc import Mapping
from typing import Generic, TypeVar

from msgspec import Struct, field

from warmfleet.plan.models import Decision, Scalar

__all__ = ["Choice", "gb", "gib", "number"]

T = TypeVar("T", bound=Scalar | list[Scalar], covariant=True)


class Choice(Struct, Generic[T], frozen=True):
    """What one step of the planner decided; it becomes a decision once it has a field."""

    value: T
    reason: str
    inputs: Mapping[str, Scalar] = field(default_factory=dict)
    source: str | None = None

    def decision(self, at: str) -> Decision:
        """Return the decision for the field ``at``."""
        inputs = {name: number(value) for name, value in self.inputs.items()}
        return Decision(
            field=at, value=self.value, reason=self.reason, inputs=inputs, source=self.source
        )


def number(value: Scalar) -> Scalar:
    """Return a float with four significant decimals: inputs are read by people."""
    return round(value, 4) if isinstance(value, float) else value


def gb(size: float) -> str:
    """Return bytes in GB (10^9) as plans write them, whole and without the unit."""
    return f"{size / 10**9:.0f}"


def gib(size: float) -> str:
    """Return bytes in GiB as plans write them, to a tenth and without the unit."""
    return f"{size / 2**30:.1f}"
