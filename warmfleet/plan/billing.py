"""How a line is billed: by its size, by the 95th percentile, or by the bytes sent."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from warmfleet.catalog.lines import Line, LinePrice
from warmfleet.catalog.wire import Peaks
from warmfleet.plan.models import BillingPlan, LinePart
from warmfleet.spec.network import Billing

__all__ = ["Bill", "Month", "bills", "cheapest", "find_price"]

_MONTH_S = 30 * 86400

_ALL: tuple[Billing, ...] = ("fixed", "p95", "traffic")


class Month(Struct, frozen=True):
    """What a month looks like on the lines of a site."""

    peak_mbps: float
    """Of the busiest minute: the larger of the two directions."""
    egress_mbps: float
    """The same of what is sent: traffic is billed that way alone."""
    mean_of_peak: float
    peaks: Peaks

    @property
    def p95_mbps(self) -> float:
        """95th percentile of five-minute means."""
        return self.peak_mbps * float(self.mean_of_peak**self.peaks.p95_exponent)

    @property
    def gb(self) -> float:
        """GB (10^9 B) sent in 30 days."""
        return self.egress_mbps * self.mean_of_peak * _MONTH_S / 8 / 1000


class Bill(Struct, frozen=True):
    """One way of billing all lines of a site for a month."""

    billing: Billing
    billed_mbps: float
    """0 where traffic is billed."""
    gb: float
    monthly: float | None
    """None: on enquiry."""
    prices: tuple[LinePrice, ...]
    """One for each line that has one."""

    @property
    def currency(self) -> str | None:
        """Of the amount."""
        return self.prices[0].currency if self.monthly is not None else None

    @property
    def example(self) -> bool:
        """Whether a price is that of a list rather than the reader's own."""
        return any(price.example for price in self.prices)

    def plan(self, mean_of_peak: float) -> BillingPlan:
        """Return the part of the plan."""
        known = self.monthly is not None
        return BillingPlan(
            kind=self.billing,
            billed_mbps=round(self.billed_mbps, 3),
            traffic_gb=round(self.gb, 3),
            mean_of_peak=mean_of_peak,
            monthly=round(self.monthly, 2) if self.monthly is not None else None,
            currency=self.currency,
            example=known and self.example,
            source="; ".join(dict.fromkeys(row.source for row in self.prices)) if known else None,
        )

    def __str__(self) -> str:
        paid = f"{self.gb:,.0f} GB" if self.billing == "traffic" else f"{self.billed_mbps:.3g} Mbps"
        if self.monthly is None:
            return f"{self.billing} ({paid}) on enquiry"
        example = ", example price" if self.example else ""
        return f"{self.billing} ({paid}) {self.monthly:,.0f} {self.currency} a month{example}"


def bills(
    lines: Sequence[Line],
    parts: Sequence[LinePart],
    shares: Sequence[float],
    region: str,
    month: Month,
    prices: Sequence[LinePrice],
) -> list[Bill]:
    """Return what each way of billing comes to; a fixed line pays its committed rate."""
    found: list[Bill] = []
    for billing in _ALL:
        amounts: list[float] = []
        used: list[LinePrice] = []
        mbps = 0.0
        for line, part, share in zip(lines, parts, shares, strict=True):
            billed = _billed_mbps(billing, line, part, month.p95_mbps * share)
            quantity = month.gb * share if billing == "traffic" else billed
            price = find_price(prices, line.id, region, billing, quantity)
            if billing == "traffic" and part.burst_mbps > line.traffic_most_mbps:
                price = None
            mbps += billed
            if price is not None:
                used.append(price)
                amounts.append(price.monthly(quantity))
        monthly = sum(amounts) if len(amounts) == len(lines) else None
        found.append(Bill(billing, mbps, month.gb, monthly, tuple(used)))
    return found


def cheapest(found: Sequence[Bill], asked: Billing | Literal["auto"]) -> Bill:
    """Return the asked bill, else the least; without any price, that of the fewest Mbps."""
    if asked != "auto":
        return next(bill for bill in found if bill.billing == asked)
    priced = [bill for bill in found if bill.monthly is not None]
    if priced:
        return min(priced, key=lambda bill: (bill.monthly or 0.0, _ALL.index(bill.billing)))
    by_rate = [bill for bill in found if bill.billing != "traffic"]
    return min(by_rate, key=lambda bill: (bill.billed_mbps, _ALL.index(bill.billing)))


def find_price(
    prices: Sequence[LinePrice], line: str, region: str, billing: Billing, quantity: float
) -> LinePrice | None:
    """Return the least price of the region's own rows, else of those that hold anywhere.

    None: on enquiry.
    """
    rows = [row for row in prices if row.line == line and billing in row.billing]
    here = [row for row in rows if region in row.regions]
    anywhere = [row for row in rows if not row.regions]
    return min(here or anywhere, key=lambda row: row.monthly(quantity), default=None)


def _billed_mbps(billing: Billing, line: Line, part: LinePart, p95_mbps: float) -> float:
    if billing == "traffic":
        return 0.0
    if billing == "fixed":
        return float(part.committed_mbps)
    return max(p95_mbps, line.p95_share * max(part.burst_mbps, line.p95_least_mbps))
