"""Line products of hosting places: what they reach, the sizes they come in, what they cost."""

from typing import Literal, Self

from pydantic import Field, model_validator

from warmfleet.catalog.rows import Row
from warmfleet.spec.network import Billing
from warmfleet.spec.units import BitRate

__all__ = ["Line", "LinePrice"]


class Line(Row):
    """A line product and the sizes it comes in."""

    id: str
    name: str
    kind: Literal["multi", "single", "premium"] = Field(
        description="multi: one address on all carriers; premium: a carrier's better network abroad"
    )
    carriers: tuple[str, ...] = Field(min_length=1, description="reached without another carrier")
    steps: tuple[BitRate, ...] = Field(min_length=1, description="sizes of one port")
    ports: int = Field(gt=0, description="of one site at most")
    p95_share: float = Field(ge=0, le=1, description="of its size, paid at least if billed by p95")
    p95_least_mbps: int = Field(gt=0, description="smallest size billed by the 95th percentile")
    traffic_most_mbps: int = Field(gt=0, description="largest burst where traffic is billed")

    @model_validator(mode="after")
    def _steps_rise(self) -> Self:
        if list(self.steps) != sorted(set(self.steps)):
            msg = f"{self.id}: steps must rise"
            raise ValueError(msg)
        return self


class LinePrice(Row):
    """A price of a line; those of the catalog are examples: what one list says, not an offer."""

    line: str
    billing: tuple[Billing, ...] = Field(min_length=1)
    regions: tuple[str, ...] = Field(default=(), description="empty: where no other row holds")
    mbps: tuple[tuple[float, float], ...] = Field(
        default=(), description="(up to Mbps, a Mbps and month) by rising Mbps"
    )
    gb: float | None = Field(default=None, gt=0, description="a GB (10^9 B) sent")
    currency: str = Field(pattern=r"^[A-Z]{3}$", description="ISO 4217")
    example: bool = Field(default=True, description="false: an offer of the reader's own")

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if bool(self.mbps) == bool(self.gb):
            msg = f"{self.line}: needed a price by Mbps or by GB"
            raise ValueError(msg)
        return self

    def monthly(self, quantity: float) -> float:
        """Return what so many Mbps, or GB of traffic, cost a month."""
        if self.gb is not None:
            return quantity * self.gb
        total, below = 0.0, 0.0
        for limit, each in self.mbps:
            total += max(0.0, min(quantity, limit) - below) * each
            below = limit
        return total
