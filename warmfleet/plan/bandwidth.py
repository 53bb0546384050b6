"""The line of a site: what all callers together need of it, on the sizes that lines are sold in."""

from collections.abc import Sequence

from msgspec import Struct

from warmfleet.catalog.lines import Line, LinePrice
from warmfleet.catalog.models import Catalog, Region
from warmfleet.plan.billing import Month, bills, cheapest
from warmfleet.plan.choice import Choice
from warmfleet.plan.line import Priced, Weighed, choose_line
from warmfleet.plan.line_paths import Path
from warmfleet.plan.line_reasons import explain_billing, explain_line, explain_rates
from warmfleet.plan.line_sizes import Rates, line_parts, line_shares
from warmfleet.plan.models import BandwidthPlan, Decision
from warmfleet.plan.pull import Pull, choose_pull, pull_plan
from warmfleet.plan.wire import SiteCaller, exchange
from warmfleet.resolve.facts import UserFacts
from warmfleet.spec.models import FleetSpec

__all__ = ["PlannedBandwidth", "SiteTraffic", "plan_bandwidth", "site_callers"]


class SiteTraffic(Struct, frozen=True):
    """What crosses the line of one site."""

    region: str
    users: Sequence[UserFacts]
    """Those that the site serves; fractions are of all users."""
    callers: Sequence[SiteCaller]
    """With the site's part of their requests."""
    pull_bytes: int | None = None
    """Weights to all servers of the site; None: they come from this machine."""


class PlannedBandwidth(Struct, frozen=True):
    """The plan and the reasons for its parts."""

    plan: BandwidthPlan
    line: Choice[str]
    committed: Choice[int]
    burst: Choice[int]
    billing: Choice[str]
    pull: Choice[float] | None

    def decisions(self, at: str) -> list[Decision]:
        """Return the decisions; ``at`` is the field of the plan, for example sites[0].bandwidth."""
        found = [
            self.line.decision(f"{at}.line"),
            self.committed.decision(f"{at}.committed_mbps"),
            self.burst.decision(f"{at}.burst_mbps"),
            self.billing.decision(f"{at}.billing.kind"),
        ]
        if self.pull is not None:
            found.append(self.pull.decision(f"{at}.pull.seconds"))
        return found


def site_callers(spec: FleetSpec, hidden: Sequence[int], share: float = 1.0) -> list[SiteCaller]:
    """Return the callers of a spec as a site sees them.

    Args:
        spec: What is asked for.
        hidden: Width of each of its models, in their order.
        share: Of all requests, that the site answers.
    """
    widths = {model.name: width for model, width in zip(spec.models, hidden, strict=True)}
    return [
        SiteCaller(caller, caller.peak_qps * share, model.name, model.task, widths[model.name])
        for caller in spec.traffic.callers
        for model in [spec.called(caller)]
    ]


def plan_bandwidth(
    site: SiteTraffic,
    spec: FleetSpec,
    catalog: Catalog,
    *,
    prices: Sequence[LinePrice] | None = None,
    rtt_p95_ms: float | None = None,
) -> PlannedBandwidth:
    """Derive line, committed and burst rate, billing, and the time that new weights take.

    Args:
        site: What crosses the line.
        spec: What is asked for.
        catalog: Lines, paths, sizes on the wire.
        prices: The reader's own, and then only these; None: the catalog's examples.
        rtt_p95_ms: What 95 % of the site's users must not exceed; None: not asked.

    Raises:
        SpecError: a line or carrier that the catalog does not know.
        PlanRefusedError: more than the largest line carries, or a line that does not do;
            the missing amount and the nearest that works are named.
    """
    region = next(row for row in catalog.regions if row.id == site.region)
    each = [(caller, exchange(caller, catalog.wire)) for caller in site.callers]
    egress = sum(caller.qps * one.egress for caller, one in each) * 8 / 10**6
    ingress = sum(caller.qps * one.ingress for caller, one in each) * 8 / 10**6
    pull = Pull(site.pull_bytes, spec.network, catalog.wire) if site.pull_bytes else None
    rates = Rates.of(max(egress, ingress), pull.needed_mbps if pull else 0.0, catalog.peaks)
    mean = spec.traffic.mean_of_peak.fraction if spec.traffic.mean_of_peak else None
    month = Month(max(egress, ingress), egress, mean or catalog.peaks.mean_of_peak, catalog.peaks)

    def price(lines: Sequence[Line], found: Sequence[Path]) -> Priced:
        shares = line_shares(lines, found)
        parts = line_parts(lines, shares, rates)
        own = catalog.line_prices if prices is None else prices
        ways = bills(lines, parts, [shares[line.id] for line in lines], site.region, month, own)
        return Priced(parts, ways, cheapest(ways, spec.network.billing))

    chosen, weighed = choose_line(
        region, site.users, spec.network, catalog, price, rtt_p95_ms=rtt_p95_ms
    )
    parts, bill = chosen.priced.parts, chosen.priced.bill
    committed = sum(part.committed_mbps for part in parts)
    pulled = choose_pull(pull, committed) if pull else None
    plan = BandwidthPlan(
        region=site.region,
        line=chosen.id,
        carriers=_carriers(chosen, region, catalog),
        committed_mbps=committed,
        burst_mbps=sum(part.burst_mbps for part in parts),
        egress_mbps=round(egress, 6),
        ingress_mbps=round(ingress, 6),
        rtt_ms=round(chosen.ms, 1),
        parts=parts,
        options=[one.option for one in weighed],
        billing=bill.plan(month.mean_of_peak),
        pull=pull_plan(pull, pulled) if pull and pulled else None,
    )
    committed_why, burst_why = explain_rates(plan, rates, each, catalog)
    return PlannedBandwidth(
        plan,
        explain_line(chosen, weighed, spec.network, catalog, rtt_p95_ms),
        committed_why,
        burst_why,
        explain_billing(chosen.priced, month, spec.network, asked=mean is not None),
        pulled,
    )


def _carriers(chosen: Weighed, region: Region, catalog: Catalog) -> list[str]:
    """Return who announces the address: the mainland's carriers where there are users of theirs."""
    reached = {name for part in chosen.priced.parts for name in part.carriers}
    inside = region.mainland or any(path.carrier is not None for path in chosen.paths)
    names = [carrier.id for carrier in catalog.carriers if carrier.id in reached and inside]
    return names if region.mainland else ["local", *names]
