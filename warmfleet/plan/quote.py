"""From a plan to the request for quotation: what is still to be ordered."""

import math

from warmfleet.catalog.gpu import find_gpu
from warmfleet.catalog.models import Catalog
from warmfleet.errors import PlanRefusedError
from warmfleet.plan.gpu_models import GpuFleetPlan, GpuSitePlan, ServerGroupPlan
from warmfleet.plan.models import BandwidthPlan, FleetPlan
from warmfleet.plan.quote_models import QuoteLine, QuotePart, QuoteRequest, QuoteServers, QuoteSite

__all__ = ["quote_of"]

_PORTS_GBPS = (1, 10, 25, 40, 100)
"""Speeds of ports that servers come with."""


def quote_of(plan: FleetPlan | GpuFleetPlan, catalog: Catalog) -> QuoteRequest:
    """Return what to ask a hosting company for; leased servers are not asked for again.

    Raises:
        PlanRefusedError: a plan of the lab, for which nothing is rented.
    """
    if isinstance(plan, FleetPlan):
        msg = (
            f"environment {plan.environment}: found placement.kind {plan.kind}; needed baremetal: "
            "the lab is on this machine, and nothing is rented for it"
        )
        raise PlanRefusedError(msg)
    return QuoteRequest(
        environment=plan.environment,
        term_months=plan.cost.term_months,
        needed_by=plan.needed_by,
        currency=plan.cost.currency,
        example=plan.cost.example,
        prices=plan.cost.prices,
        sites=[_site(plan, index, site, catalog) for index, site in enumerate(plan.sites)],
    )


def _site(plan: GpuFleetPlan, index: int, site: GpuSitePlan, catalog: Catalog) -> QuoteSite:
    region = next(row for row in catalog.regions if row.id == site.region)
    return QuoteSite(
        region=site.region,
        city=region.city,
        country=region.country,
        icp_filing=site.icp_filing,
        servers=[_servers(group) for group in site.groups if not group.servers],
        line=_line(site.bandwidth),
        cost=plan.cost.sites[index],
    )


def _line(line: BandwidthPlan) -> QuoteLine:
    fast = (gbps for gbps in _PORTS_GBPS if gbps * 1000 >= line.burst_mbps)
    return QuoteLine(
        parts=[
            QuotePart(
                product=part.line, committed_mbps=part.committed_mbps, burst_mbps=part.burst_mbps
            )
            for part in line.parts
        ],
        carriers=line.carriers,
        port_gbps=next(fast, _PORTS_GBPS[-1]),
        billing=line.billing.kind,
        traffic_gb=line.billing.traffic_gb,
    )


def _servers(group: ServerGroupPlan) -> QuoteServers:
    gpu, host = find_gpu(group.gpu), group.host
    return QuoteServers(
        name=group.name,
        count=group.count,
        gpus=group.gpus,
        card=group.card,
        card_memory_gb=gpu.memory_gb,
        card_memory_seen_gib=gpu.nvml_total_gib,
        cores=host.cores,
        memory_gb=math.ceil(host.memory_bytes / 10**9),
        model_disk_gb=math.ceil(host.model_disk.size_bytes / 10**9),
        model_disk_read_gb_per_s=host.model_disk.read_gb_per_s,
        data_disk_gb=math.ceil(host.data_disk.size_bytes / 10**9),
        driver=host.driver.branch if host.driver else None,
    )
