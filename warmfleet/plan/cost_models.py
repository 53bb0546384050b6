"""What the plan costs, a month and once; of what has no price nothing is claimed."""

from typing import Literal

from pydantic import Field

from warmfleet.plan.models import Plan
from warmfleet.spec.servers import Day

__all__ = ["CostItem", "CostPlan", "SiteCost"]


class CostItem(Plan):
    """One thing that is paid for."""

    kind: Literal["server", "disk", "line", "traffic"]
    what: str
    quantity: float = Field(ge=0, description="0: less than can be written")
    unit: str = Field(description="of the quantity, for example server or Mbps")
    price: float | None = Field(default=None, ge=0, description="of one a month; None: on enquiry")
    monthly: float | None = Field(default=None, ge=0, description="quantity x price")
    once: float = Field(default=0, ge=0, description="set-up")


class SiteCost(Plan):
    """What one site costs."""

    site: str
    items: list[CostItem]
    monthly: float = Field(ge=0, description="of what has a price")
    once: float = Field(ge=0)
    on_enquiry: int = Field(ge=0, description="items without a price: the sum is a lower bound")


class CostPlan(Plan):
    """What the fleet costs, in one currency."""

    currency: str = Field(description="ISO 4217; XXX: none was said")
    example: bool = Field(description="true: from example prices, no offer of anybody")
    prices: str = Field(description="where the prices come from")
    valid_until: Day | None = Field(description="last day of the offer, where it has one")
    sites: list[SiteCost]
    monthly: float = Field(ge=0, description="of what has a price")
    once: float = Field(ge=0)
    on_enquiry: int = Field(ge=0, description="items without a price: the sum is a lower bound")
    term_months: int | None = Field(default=None, gt=0, description="for how long to rent")
    term_total: float | None = Field(default=None, ge=0, description="monthly x term + once")

    @property
    def lower_bound(self) -> bool:
        """Is there something that has no price?"""
        return self.on_enquiry > 0
