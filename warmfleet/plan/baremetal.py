"""Leased GPU servers: each model on its cards, what to rent or which servers to use."""

from collections.abc import Sequence

from warmfleet.catalog.models import Catalog
from warmfleet.plan.bandwidth import plan_bandwidth
from warmfleet.plan.digest import spec_digest
from warmfleet.plan.gpu_choice import choose_cards
from warmfleet.plan.gpu_hosts import must_have_hosts
from warmfleet.plan.gpu_model import PlannedModel, plan_model
from warmfleet.plan.gpu_models import GpuFleetPlan, GpuSitePlan
from warmfleet.plan.gpu_placement import Placed, place_models
from warmfleet.plan.gpu_pools import pools_of
from warmfleet.plan.gpu_replicas import staff
from warmfleet.plan.gpu_wanted import wanted_models
from warmfleet.plan.load import choose_floor
from warmfleet.plan.models import UpdatesPlan
from warmfleet.plan.promises import plan_slo
from warmfleet.plan.region import choose_region
from warmfleet.plan.waiting import PlannedTimeouts, plan_timeouts
from warmfleet.resolve.facts import Facts
from warmfleet.spec.models import FleetSpec
from warmfleet.spec.placement import BaremetalPlacement

__all__ = ["plan_baremetal"]


def plan_baremetal(
    spec: FleetSpec, placement: BaremetalPlacement, facts: Facts, catalog: Catalog
) -> GpuFleetPlan:
    """Plan GPU servers; raises as plan_fleet does."""
    wanted = wanted_models(spec, facts.models, catalog.peaks.second_to_minute)
    pools = pools_of(placement)
    at = "placement.servers" if placement.servers else "placement.gpu"
    chosen = [choose_cards(one, pools, at=at) for one in wanted]
    staffing = [staff(one, spec.updates.floor or 0) for one in chosen]
    placed = place_models(chosen, staffing, _host_memory(placement))
    for group in placed.groups:
        must_have_hosts(placement, group.servers, group.cores, group.disk_bytes)
    models = [
        plan_model(one, count, placed, spec.slo, catalog)
        for one, count in zip(chosen, staffing, strict=True)
    ]
    region = choose_region(facts.users, catalog, asked=placement.region)
    line = plan_bandwidth(spec.traffic.callers, region.value, catalog)
    floor = choose_floor(spec, min(model.plan.replicas for model in models))
    timeouts = _timeouts(models)
    return GpuFleetPlan(
        kind="baremetal",
        catalog_version=catalog.version,
        spec_sha256=spec_digest(spec),
        environment=spec.name,
        sites=[
            GpuSitePlan(
                name=region.value,
                region=region.value,
                bandwidth=line.plan,
                groups=list(placed.groups),
                idle=_idle(placement, placed),
            )
        ],
        models=[model.plan for model in models],
        timeouts=timeouts.chain,
        slo=plan_slo(spec.slo, cold_start_s=max(model.cold_start_s for model in models)),
        updates=UpdatesPlan(floor=floor.value),
        decisions=[
            region.decision("sites[0].region"),
            line.line.decision("sites[0].bandwidth.line"),
            line.committed.decision("sites[0].bandwidth.committed_mbps"),
            line.burst.decision("sites[0].bandwidth.burst_mbps"),
            *placed.decisions,
            *(decision for model in models for decision in model.decisions),
            *timeouts.decisions,
            floor.decision("updates.floor"),
        ],
    )


def _timeouts(models: Sequence[PlannedModel]) -> PlannedTimeouts:
    """All models share the path, so the slowest of them decides."""
    slowest = max(models, key=lambda model: model.slowest_generation_s)
    alone = [model.cold_start_s for model in models if model.plan.replicas == 1]
    return plan_timeouts(
        slowest.slowest_generation_s,
        speed="planned",
        source=slowest.speed.source,
        budget_s=max(model.plan.warmup.budget_s for model in models),
        gap_s=max(alone) if alone else None,
    )


def _idle(placement: BaremetalPlacement, placed: Placed) -> list[str]:
    used = {name for group in placed.groups for name in group.servers}
    return [server.name for server in placement.servers if server.name not in used]


def _host_memory(placement: BaremetalPlacement) -> dict[str, int]:
    return {
        server.name: server.contract.ram.bytes
        for server in placement.servers
        if server.contract.ram is not None
    }
