"""The price book: what servers, disks, lines and traffic cost, as a person keeps it in YAML.

Rents are for one ``period``, all in one ``currency``; nothing here is ever converted.
"""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from warmfleet.spec.cards import Cards
from warmfleet.spec.fields import Positive, SpecModel, checked, disagree
from warmfleet.spec.servers import Day
from warmfleet.spec.units import ByteSize

__all__ = [
    "NO_CURRENCY",
    "CardPrice",
    "DiskPrice",
    "LinePrice",
    "PriceBook",
    "PriceRow",
    "ServerPrice",
    "TrafficPrice",
]

NO_CURRENCY = "XXX"
"""ISO 4217 for amounts without one: rents that a spec names by themselves."""

Money = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
Fee = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Text = Annotated[str, Field(min_length=1, max_length=300)]


class PriceRow(SpecModel):
    """One price."""

    region: str | None = Field(
        default=None, description="where it holds; everywhere if absent, one's own row goes first"
    )
    source: Text | None = Field(default=None, description="who says so: an offer, a price list")


class CardPrice(PriceRow):
    """The rent of a card with its share of a server."""

    card: Annotated[str, Field(min_length=1, max_length=60)] = Field(description="as catalogs name")
    rent: Money = Field(description="of one card")
    setup: Fee = Field(default=0, description="once, for one card")


class ServerPrice(PriceRow):
    """The rent of a whole server."""

    gpu: Cards = Field(description="its cards, for example 1 x RTX 4090")
    cpu: int | None = Field(default=None, ge=1, le=4096, description="CPU cores; any if absent")
    ram: Annotated[ByteSize, Positive] | None = Field(
        default=None, description="memory; enough if absent"
    )
    nvme: tuple[Annotated[ByteSize, Positive], ...] = Field(
        default=(), strict=False, description="disks that the rent includes"
    )
    rent: Money = Field(description="of one server")
    setup: Fee = Field(default=0, description="once, for one server")


class DiskPrice(PriceRow):
    """The rent of an NVMe disk."""

    size: Annotated[ByteSize, Positive] = Field(description="as sold")
    rent: Money = Field(description="of one disk")
    setup: Fee = Field(default=0, description="once, for one disk")


class LinePrice(PriceRow):
    """The price of a line."""

    line: str = Field(description="product, for example bgp")
    mbps: Money = Field(description="of one Mbps that is billed")
    billing: Literal["fixed", "p95"] | None = Field(
        default=None,
        description="by the committed rate, or by the 95th percentile; either if absent",
    )
    setup: Fee = Field(default=0, description="once, for the line")


class TrafficPrice(PriceRow):
    """The price of traffic where it is billed by volume."""

    line: str = Field(description="product, for example bgp")
    gb: Money = Field(description="of one GB (10^9 bytes) sent, whatever the period")


class PriceBook(SpecModel):
    """All prices of one offer or list."""

    currency: Annotated[
        str,
        checked(
            lambda text: re.fullmatch(r"[A-Z]{3}", text, re.ASCII),
            "the three letters of a currency such as CNY",
        ),
    ] = Field(description="of all prices; never converted")
    period: Literal["month", "quarter", "year"] = Field(
        default="month", description="that rents are for"
    )
    valid_until: Day | None = Field(default=None, description="last day of the offer")
    example: bool = Field(
        default=False, description="true: no offer but an example, and every sum of it says so"
    )
    # Strict checking would not take the lists of a lock that was read.
    cards: tuple[CardPrice, ...] = Field(default=(), strict=False, description="cards on offer")
    servers: tuple[ServerPrice, ...] = Field(
        default=(), strict=False, description="whole servers on offer"
    )
    disks: tuple[DiskPrice, ...] = Field(default=(), strict=False, description="disks")
    lines: tuple[LinePrice, ...] = Field(
        default=(), strict=False, description="lines by the committed Mbps"
    )
    traffic: tuple[TrafficPrice, ...] = Field(
        default=(), strict=False, description="traffic by volume"
    )

    @model_validator(mode="after")
    def _servers_have_cards(self) -> Self:
        for index, server in enumerate(self.servers):
            if server.gpu.count is None:
                said = f"found '{server.gpu}'; needed how many: 1 x {server.gpu}"
                disagree(f"servers[{index}].gpu", said)
        return self

    @property
    def months(self) -> int:
        """Months of the period."""
        return {"month": 1, "quarter": 3, "year": 12}[self.period]
