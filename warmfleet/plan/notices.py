"""What has to be known before a plan is signed: filings, leases, estimates, prices."""

from collections.abc import Iterator

from warmfleet.plan.gpu_models import GpuFleetPlan, GpuModelPlan, GpuSitePlan
from warmfleet.plan.money import ON_ENQUIRY

__all__ = ["notices_of", "slower_line"]

_NOTED_MS = 0.5
"""Less is within the rounding of the plan's milliseconds."""


def notices_of(plan: GpuFleetPlan) -> Iterator[str]:
    """Yield them, each a sentence."""
    for site in plan.sites:
        yield from _site(site)
    yield (
        f"Round-trip times are estimates: 95 % of the users are within {plan.rtt.p95_ms:.0f} ms, "
        f"and within {plan.rtt.p95_high_ms:.0f} ms at the upper bounds of all paths."
    )
    for model in plan.models:
        yield from _model(model)
    for lease in plan.leases:
        reference = f" ({lease.reference})" if lease.reference else ""
        yield f"The lease of {lease.server}{reference} ends on {lease.until}."
    if plan.cost.example:
        yield "Prices are examples from public lists. Nobody offers them; ask: warmfleet quote."
    if plan.cost.valid_until is not None:
        yield f"The prices of {plan.cost.prices} hold until {plan.cost.valid_until}."
    if plan.cost.lower_bound:
        unknown = plan.cost.on_enquiry
        items = "1 item has" if unknown == 1 else f"{unknown} items have"
        yield f"Sums are lower bounds: {items} the {ON_ENQUIRY}."


def slower_line(site: GpuSitePlan) -> str | None:
    """Say where the site's line is slower than the BGP line that its users' times are for."""
    line = site.bandwidth
    if line.rtt_ms <= site.rtt.mean_ms + _NOTED_MS:
        return None
    p95_ms = next(option.rtt_p95_ms for option in line.options if option.line == line.line)
    return (
        f"over {line.line} the mean is {line.rtt_ms:.0f} ms, and 95 % are within {p95_ms:.0f} ms: "
        "users' times here are those of BGP lines"
    )


def _site(site: GpuSitePlan) -> Iterator[str]:
    if (slower := slower_line(site)) is not None:
        yield f"Site {site.name}: {slower}."
    if site.icp_filing:
        yield (
            f"Site {site.name} is in mainland China: a website that is served there needs an ICP "
            "filing before it opens."
        )
    if site.cross_border_share:
        yield (
            f"{site.cross_border_share:.0%} of all users reach {site.name} across the border of "
            "mainland China, where times differ most by carrier."
        )
    for group in site.groups:
        driver = group.host.driver
        if driver is not None:
            yield f"Driver {driver.branch} of {group.name} in {site.name} ends in {driver.until}."
    for how in site.updates:
        if how.gap_s:
            yield (
                f"An update of {how.model} in {site.name} leaves no replica for {how.gap_s:.0f} s."
            )
    if site.idle:
        yield f"Leased and not needed: {', '.join(site.idle)}."


def _model(model: GpuModelPlan) -> Iterator[str]:
    yield (
        f"Speeds of {model.name} are planned; published speeds were off by "
        f"{model.throughput.error_pct:.0f} % in the median."
    )
    if model.residency.kind != "resident":
        yield (
            f"Model {model.name} takes turns on its cards: a request that finds another one loaded "
            f"waits {model.residency.wait_s:.0f} s."
        )
    for loss in model.quality:
        yield f"Published of {model.precision}, as {model.name} has it: {loss.finding}."
