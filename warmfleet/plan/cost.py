"""The cost: each site's servers, disks and line at the prices that hold there."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from warmfleet.plan.choice import Choice, gb
from warmfleet.plan.cost_models import CostItem, CostPlan, SiteCost
from warmfleet.plan.gpu_models import GpuSitePlan, ServerGroupPlan
from warmfleet.plan.models import Decision
from warmfleet.plan.money import ON_ENQUIRY, amount
from warmfleet.plan.price_list import Price, PriceList
from warmfleet.resolve.price_facts import PriceFacts
from warmfleet.spec.network import Billing

__all__ = ["PlannedCost", "plan_cost"]


_BILLED: Mapping[Billing, str] = {
    "fixed": "committed rate",
    "p95": "95th percentile",
    "traffic": "traffic sent",
}


class PlannedCost(Struct, frozen=True):
    """The cost and its arithmetic."""

    plan: CostPlan
    decisions: tuple[Decision, ...]


class _Priced(Struct, frozen=True):
    item: CostItem
    row: str
    """Where its price stands."""


def plan_cost(sites: Sequence[GpuSitePlan], prices: PriceFacts, term: int | None) -> PlannedCost:
    """Price a plan.

    Args:
        sites: What is to be rented.
        prices: Of one currency; what they do not have is on enquiry.
        term: Months of the lease.
    """
    book, found = prices.book, PriceList(prices)
    costs: list[SiteCost] = []
    decisions: list[Decision] = []
    for index, site in enumerate(sites):
        priced = list(_items(site, found))
        costs.append(_site(site.name, [one.item for one in priced]))
        for number, one in enumerate(priced):
            at = f"cost.sites[{index}].items[{number}].monthly"
            decisions += [choice.decision(at) for choice in _explain(one, book.currency)]
    monthly = round(sum(cost.monthly for cost in costs), 2)
    once = round(sum(cost.once for cost in costs), 2)
    plan = CostPlan(
        currency=book.currency,
        example=book.example,
        prices=prices.named,
        valid_until=book.valid_until,
        sites=costs,
        monthly=monthly,
        once=once,
        on_enquiry=sum(cost.on_enquiry for cost in costs),
        term_months=term,
        term_total=None if term is None else round(term * monthly + once, 2),
    )
    decisions.append(_explain_total(plan).decision("cost.monthly"))
    return PlannedCost(plan, tuple(decisions))


def _site(name: str, items: list[CostItem]) -> SiteCost:
    return SiteCost(
        site=name,
        items=items,
        monthly=round(sum(item.monthly or 0 for item in items), 2),
        once=round(sum(item.once for item in items), 2),
        on_enquiry=sum(item.price is None for item in items),
    )


def _items(site: GpuSitePlan, found: PriceList) -> Iterator[_Priced]:
    for group in site.groups:
        yield from _servers(site.region, group, found)
    yield _line(site, found)


def _servers(region: str, group: ServerGroupPlan, found: PriceList) -> Iterator[_Priced]:
    host = group.host
    disks = [host.model_disk.size_bytes, host.data_disk.size_bytes]
    what = f"{group.gpus} x {group.card}, {host.cores} cores, {gb(host.memory_bytes)} GB"
    price, beside = found.server(
        region,
        group.gpu,
        group.gpus,
        cores=host.cores,
        memory=host.memory_bytes,
        disks=disks,
    ) or (None, disks)
    if price is None and (card := found.card(region, group.gpu)) is not None:
        price = Price(card.monthly * group.gpus, card.setup * group.gpus, card.row)
    yield _pieces("server", what, group.count, price)
    if not group.servers:  # of a leased server the disks are there
        left = list(beside)
        for use, size in zip(("weights", "system and data"), disks, strict=True):
            if size in left:
                left.remove(size)
                what = f"NVMe for {use}, {gb(size)} GB"
                yield _pieces("disk", what, group.count, found.disk(region, size))


def _pieces(kind: Literal["server", "disk"], what: str, count: int, price: Price | None) -> _Priced:
    once = count * price.setup if price else 0
    return _priced(CostItem(kind=kind, what=what, quantity=count, unit=kind, once=once), price)


def _line(site: GpuSitePlan, found: PriceList) -> _Priced:
    """Price the line as it is billed; prices that rise by size give a mean price of one."""
    line, bill = site.bandwidth, site.bandwidth.billing
    by_traffic = bill.kind == "traffic"
    item = CostItem(
        kind="traffic" if by_traffic else "line",
        what=f"line {line.line}, {_BILLED[bill.kind]}",
        quantity=bill.traffic_gb if by_traffic else bill.billed_mbps,
        unit="GB" if by_traffic else "Mbps",
        once=found.line_setup(site.region, [part.line for part in line.parts], bill.kind),
    )
    if bill.monthly is None:
        return _Priced(item, "")
    # Of a caller a month nothing is left but a rounded 0.
    price = round(bill.monthly / item.quantity, 4) if item.quantity else 0.0
    update = {"price": price, "monthly": bill.monthly}
    return _Priced(item.model_copy(update=update), bill.source or "")


def _priced(item: CostItem, price: Price | None) -> _Priced:
    if price is None:
        return _Priced(item, "")
    monthly = round(item.quantity * price.monthly, 2)
    update = {"price": round(price.monthly, 4), "monthly": monthly}
    return _Priced(item.model_copy(update=update), price.row)


def _explain(priced: _Priced, currency: str) -> Iterator[Choice[float]]:
    item = priced.item
    if item.price is None or item.monthly is None:
        return
    once = f"; {amount(item.once, currency)} once" if item.once else ""
    each = amount(item.price, currency)
    yield Choice(
        item.monthly,
        f"{item.what}: {item.quantity:g} {item.unit} x {each} a month{once}",
        {item.unit: item.quantity, "price": item.price, "once": item.once},
        priced.row,
    )


def _explain_total(plan: CostPlan) -> Choice[float]:
    parts = {f"{cost.site}_monthly": cost.monthly for cost in plan.sites}
    said = " + ".join(amount(value, plan.currency) for value in parts.values())
    unknown = [item.what for cost in plan.sites for item in cost.items if item.price is None]
    if unknown:
        said += f"; a lower bound, since {ON_ENQUIRY}: {'; '.join(unknown)}"
    if plan.example:
        said += "; example prices, which nobody offers"
    return Choice(plan.monthly, said, {**parts, "once": plan.once}, plan.prices)
