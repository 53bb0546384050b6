"""A site's part of the plan: whom it serves, its servers, its line."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from warmfleet.catalog.models import Catalog
from warmfleet.plan.bandwidth import SiteTraffic, plan_bandwidth, site_callers
from warmfleet.plan.gpu_contracts import must_have_hosts
from warmfleet.plan.gpu_models import GpuSitePlan
from warmfleet.plan.gpu_pull import pull_bytes
from warmfleet.plan.gpu_sites import StaffedSite
from warmfleet.plan.models import Decision
from warmfleet.plan.price_list import PriceList
from warmfleet.plan.site_models import SiteReplicasPlan
from warmfleet.plan.site_reasons import choose_region, explain_site, plan_rtt, plan_users
from warmfleet.plan.sites import ChosenSites
from warmfleet.spec.models import FleetSpec
from warmfleet.spec.placement import BaremetalPlacement

__all__ = ["PlannedSite", "UpdateTimes", "plan_site"]


class UpdateTimes(Struct, frozen=True):
    """How long a replica is away at most, and requests wait for one."""

    drain_s: float
    queue_s: float
    """That requests wait at the gateway for a replica."""
    start_s: Mapping[str, float]
    """By model: process start to ready."""


class PlannedSite(Struct, frozen=True):
    """The plan and the reasons for its parts."""

    plan: GpuSitePlan
    decisions: tuple[Decision, ...]


def plan_site(
    index: int,
    staffed: StaffedSite,
    chosen: ChosenSites,
    times: UpdateTimes,
    spec: FleetSpec,
    catalog: Catalog,
    prices: PriceList,
) -> PlannedSite:
    """Plan the site of that number.

    Args:
        index: of the site.
        staffed: its replicas.
        chosen: all sites.
        times: how long replicas drain and start.
        spec: what is asked for.
        catalog: facts.
        prices: of lines.

    Raises:
        PlanRefusedError: its line would be larger than any, or contracts have too small hosts.
    """
    at, site, placed = f"sites[{index}]", staffed.site, staffed.placed
    region = choose_region(chosen, site)
    users, rtt = plan_users(site, catalog), plan_rtt(site.visitors)
    widths = [one.wanted.facts.architecture.hidden for one in staffed.chosen]
    line = plan_bandwidth(
        SiteTraffic(
            region=region.value,
            users=[visitors.users for visitors in site.visitors],
            callers=site_callers(spec, widths, site.load),
            pull_bytes=pull_bytes(placed.groups, staffed.chosen),
        ),
        spec,
        catalog,
        prices=prices.lines(),
        rtt_p95_ms=chosen.rules.limit_ms if site.role == "serving" else None,
    )
    if isinstance(spec.placement, BaremetalPlacement):
        must_have_hosts(spec.placement, placed.groups, line.plan)
    updates = [
        one.plan(drain_s=times.drain_s, start_s=times.start_s[one.model]) for one in staffed.updates
    ]
    plan = GpuSitePlan(
        name=region.value,
        region=region.value,
        role=site.role,
        load=site.load,
        users=users,
        rtt=rtt,
        cross_border_share=round(sum(row.share for row in users if row.cross_border), 5),
        icp_filing=site.region.mainland,
        replicas=[
            SiteReplicasPlan(
                model=one.wanted.spec.name, replicas=count.replicas.value, spare=count.spare
            )
            for one, count in zip(staffed.chosen, staffed.staffing, strict=True)
        ],
        bandwidth=line.plan,
        groups=list(placed.groups),
        updates=updates,
        idle=[*_idle(staffed), *(_elsewhere(spec, chosen) if index == 0 else ())],
    )
    decisions = [
        region.decision(f"{at}.region"),
        *explain_site(site, users, rtt, at),
        *line.decisions(f"{at}.bandwidth"),
        *(_replicas(staffed, at) if len(chosen.sites) > 1 else ()),
        *placed.decisions,
        *(
            decision
            for number, (one, how) in enumerate(zip(staffed.updates, updates, strict=True))
            for decision in one.decisions(
                f"{at}.updates[{number}]",
                how,
                start_s=times.start_s[one.model],
                queue_s=times.queue_s,
            )
        ),
    ]
    return PlannedSite(plan, tuple(decisions))


def _replicas(staffed: StaffedSite, at: str) -> Iterator[Decision]:
    """Yield why so many; of one site alone the model's own decision says it."""
    for index, count in enumerate(staffed.staffing):
        yield count.replicas.decision(f"{at}.replicas[{index}].replicas")


def _idle(staffed: StaffedSite) -> list[str]:
    used = {name for group in staffed.placed.groups for name in group.servers}
    return [server.name for server in staffed.placement.servers if server.name not in used]


def _elsewhere(spec: FleetSpec, chosen: ChosenSites) -> Iterator[str]:
    """Yield leased servers in regions that are nearest to nobody."""
    if isinstance(spec.placement, BaremetalPlacement):
        regions = {site.region.id for site in chosen.sites}
        for server in spec.placement.servers:
            if server.region is not None and server.region not in regions:
                yield server.name
