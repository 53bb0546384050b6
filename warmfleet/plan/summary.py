"""What a plan comes to, in a few figures."""

from msgspec import Struct

from warmfleet.plan.gpu_models import GpuFleetPlan
from warmfleet.plan.money import ON_ENQUIRY, amount

__all__ = ["Figure", "summary_of"]


class Figure(Struct, frozen=True):
    """One figure, and what it stands on."""

    name: str
    value: str
    note: str


def summary_of(plan: GpuFleetPlan) -> list[Figure]:
    """Return the figures that a decision needs."""
    groups = [group for site in plan.sites for group in site.groups]
    cards: dict[str, int] = {}
    for group in groups:
        cards[group.card] = cards.get(group.card, 0) + group.count * group.gpus
    leased = sum(len(group.servers) for group in groups)
    rented = sum(group.count for group in groups) - leased
    first = max(model.throughput.ttft_p95_s for model in plan.models)
    return [
        Figure(
            "Sites",
            ", ".join(site.region for site in plan.sites),
            ", ".join(
                f"{'stands by' if site.role == 'recovery' else f'{site.load:.0%} of the load'}"
                for site in plan.sites
            ),
        ),
        Figure(
            "Servers",
            str(sum(group.count for group in groups)),
            f"{', '.join(f'{count} x {card}' for card, count in cards.items())}; {rented} to rent, "
            f"{leased} leased",
        ),
        Figure(
            "Users to servers",
            f"{plan.rtt.p95_ms:.0f} ms",
            f"95 % of the users are within it; {plan.rtt.p95_low_ms:.0f} to "
            f"{plan.rtt.p95_high_ms:.0f} at the bounds of the estimates",
        ),
        Figure(
            "First token",
            f"{first * 1000:.0f} ms",
            "95th percentile at the peak, of the slowest model, from the engine's door",
        ),
        Figure(
            "Cold start",
            f"{max(model.cold_start.reboot_s for model in plan.models):.0f} s",
            "after a reboot, of the slowest model, from process start to warm",
        ),
        _cost(plan),
    ]


def _cost(plan: GpuFleetPlan) -> Figure:
    cost = plan.cost
    if not cost.monthly:
        return Figure("Cost a month", ON_ENQUIRY, "nothing in it has a price")
    least = "at least " if cost.lower_bound else ""
    notes = [f"{cost.on_enquiry} on enquiry"] if cost.lower_bound else []
    notes += ["example prices, which nobody offers"] if cost.example else [f"by {cost.prices}"]
    if cost.term_total is not None:
        total = amount(cost.term_total, cost.currency)
        notes.append(f"{least}{total} in {cost.term_months} months")
    example = " (example)" if cost.example else ""
    value = f"{least}{amount(cost.monthly, cost.currency)}{example}"
    return Figure("Cost a month", value, "; ".join(notes))
