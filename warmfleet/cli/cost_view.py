"""The cost of a plan as tables for people."""

from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from warmfleet.plan.cost_models import CostPlan
from warmfleet.plan.money import amount

__all__ = ["print_cost"]


def print_cost(console: Console, cost: CostPlan) -> None:
    """Print what each site costs, and the sum with what it leaves out."""
    console.print(f"[bold]cost[/bold] by {escape(cost.prices)}")
    table = Table(box=None, pad_edge=False)
    for column in ("site", "what", "quantity", "price a month", "a month", "once"):
        table.add_column(column, justify="left" if column in {"site", "what"} else "right")
    for site in cost.sites:
        for item in site.items:
            table.add_row(
                escape(site.site),
                escape(item.what),
                f"{item.quantity:g} {item.unit}",
                amount(item.price, cost.currency),
                "" if item.monthly is None else amount(item.monthly, cost.currency),
                amount(item.once, cost.currency) if item.once else "",
            )
    console.print(table)
    console.print("  ".join(_sums(cost)))


def _sums(cost: CostPlan) -> Iterator[str]:
    least = "at least " if cost.lower_bound else ""
    example = " (example prices)" if cost.example else ""
    yield f"total: {least}{amount(cost.monthly, cost.currency)} a month{example}"
    if cost.once:
        yield f"{least}{amount(cost.once, cost.currency)} once"
    if cost.term_total is not None:
        yield f"{least}{amount(cost.term_total, cost.currency)} in {cost.term_months} months"
    if cost.lower_bound:
        yield f"without a price: {cost.on_enquiry}"
    if cost.valid_until is not None:
        yield f"prices hold until {cost.valid_until}"
