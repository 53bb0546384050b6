"""Why a site has its line, its rates and its billing."""

from collections.abc import Sequence

from warmfleet.catalog.models import Catalog
from warmfleet.plan.billing import Month
from warmfleet.plan.choice import Choice
from warmfleet.plan.line import MATERIAL_SHARE, SLACK_MS, Priced, Weighed, carrier_shares
from warmfleet.plan.line_sizes import Rates
from warmfleet.plan.models import BandwidthPlan, LineOption, Scalar
from warmfleet.plan.wire import Exchange, SiteCaller
from warmfleet.spec.network import NetworkSpec

__all__ = ["explain_billing", "explain_line", "explain_rates"]


def explain_line(
    chosen: Weighed,
    weighed: Sequence[Weighed],
    network: NetworkSpec,
    catalog: Catalog,
    rtt_p95_ms: float | None,
) -> Choice[str]:
    """Say why this line; the inputs are the table of all that were weighed."""
    names = {carrier.id: carrier.name for carrier in catalog.carriers}
    option = chosen.option
    worst = option.worst_carrier
    worst = f", {names[worst]} {option.worst_ms:g} ms" if worst else ""
    said = f"{chosen.name}: {option.rtt_ms:g} ms by users' and carriers' shares{worst}"
    if network.line is not None:
        rule = "asked for"
        if (crossing := _crossing(chosen, names)) is not None:
            rule += f", although {crossing} cross over to another carrier, where paths congest"
    else:
        near = (
            f"keep {rtt_p95_ms:g} ms for 95 % of the users"
            if rtt_p95_ms is not None and chosen.p95_ms <= rtt_p95_ms
            else f"are within {SLACK_MS:g} ms of the best"
        )
        rule = (
            f"the cheapest of those that {near} and leave no carrier of {MATERIAL_SHARE:.0%} or "
            "more to cross over"
        )
    inputs: dict[str, Scalar] = {
        f"share_{name}": share for name, share in carrier_shares(network, catalog).items()
    }
    inputs |= {f"option_{one.id}": _row(one.option, names) for one in weighed}
    lines = {line.source for one in weighed for line in one.lines}
    prices = {price.source for one in weighed for price in one.priced.bill.prices}
    shares = {carrier.source for carrier in catalog.carriers}
    return Choice(chosen.id, f"{said}; {rule}", inputs, "; ".join(sorted(lines | prices | shares)))


def explain_rates(
    plan: BandwidthPlan,
    rates: Rates,
    each: Sequence[tuple[SiteCaller, Exchange]],
    catalog: Catalog,
) -> tuple[Choice[int], Choice[int]]:
    """Say why the committed and the burst rate."""
    peaks = catalog.peaks
    larger = "answers" if plan.egress_mbps >= plan.ingress_mbps else "requests"
    reason = (
        f"peak requests/s x bytes of {larger} = {rates.peak:.3f} Mbps, times {peaks.headroom:g}"
    )
    if rates.pull > rates.peak * peaks.headroom:
        reason = f"new weights in the asked window need {rates.pull:.3f} Mbps, more than the load"
    inputs: dict[str, Scalar] = {
        "egress_mbps": plan.egress_mbps,
        "ingress_mbps": plan.ingress_mbps,
        "headroom": peaks.headroom,
    }
    for caller, one in each:
        name = caller.spec.name
        inputs[f"{name}_answer_bytes"] = one.egress
        inputs[f"{name}_request_bytes"] = one.ingress
        inputs[f"{name}_answer"] = one.how
    ports = {f"ports_{part.line}": part.ports for part in plan.parts}
    return (
        Choice(
            plan.committed_mbps, f"{reason}, on the next size sold", inputs, catalog.wire.source
        ),
        Choice(
            plan.burst_mbps,
            f"the peak of a second is {peaks.second_to_minute:g} times that of a minute",
            {"wanted_mbps": rates.burst, "second_to_minute": peaks.second_to_minute, **ports},
            peaks.source,
        ),
    )


def explain_billing(
    priced: Priced, month: Month, network: NetworkSpec, *, asked: bool
) -> Choice[str]:
    """Say why the line is billed so."""
    bill = priced.bill
    shape = (
        f"the mean of a month is {month.mean_of_peak:.0%} of its busiest minute "
        f"({'as said' if asked else 'as of large public services'}), so the 95th percentile about "
        f"{month.p95_mbps / month.peak_mbps:.0%} and {month.gb:,.0f} GB are sent"
    )
    why = "asked for" if network.billing != "auto" else "least for this shape"
    if network.billing == "auto" and bill.monthly is None:
        why = "fewest Mbps; prices are on enquiry"
    inputs: dict[str, Scalar] = {"mean_of_peak": month.mean_of_peak, "p95_mbps": month.p95_mbps}
    inputs |= {way.billing: str(way) for way in priced.bills}
    sources = {price.source for way in priced.bills for price in way.prices}
    return Choice(
        bill.billing,
        f"{bill}: {why}; {shape}",
        inputs,
        "; ".join([month.peaks.source, *sorted(sources)]),
    )


def _row(option: LineOption, names: dict[str, str]) -> str:
    worst = f", {names[option.worst_carrier]} {option.worst_ms:g}" if option.worst_carrier else ""
    money = "on enquiry"
    if option.monthly is not None:
        money = f"{option.monthly:,.0f} {option.currency} a month ({option.billing}"
        money += ", example)" if option.example else ")"
    verdict = "taken" if option.against is None else option.against
    bounds = f"{option.rtt_low_ms:.0f} to {option.rtt_high_ms:.0f}"
    return f"{option.rtt_ms:g} ms ({bounds}, p95 {option.rtt_p95_ms:g}{worst}), {money}: {verdict}"


def _crossing(one: Weighed, names: dict[str, str]) -> str | None:
    crossing = dict.fromkeys(
        names[path.carrier] for path in one.paths if path.crosses and path.carrier is not None
    )
    return " and ".join(crossing) or None
