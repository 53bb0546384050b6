"""Leased GPU servers: where, each model on its cards, what to rent or which servers to use."""

from collections.abc import Mapping, Sequence

from warmfleet.catalog.models import Catalog
from warmfleet.plan.choice import Choice
from warmfleet.plan.cost import plan_cost
from warmfleet.plan.counted_users import explain_users
from warmfleet.plan.digest import spec_digest
from warmfleet.plan.gpu_model import PlannedModel, plan_model
from warmfleet.plan.gpu_models import GpuFleetPlan, LeasePlan
from warmfleet.plan.gpu_site import UpdateTimes, plan_site
from warmfleet.plan.gpu_sites import StaffedSite, models_of, staff_sites
from warmfleet.plan.gpu_start import load_host
from warmfleet.plan.gpu_wanted import wanted_models
from warmfleet.plan.models import UpdatesPlan
from warmfleet.plan.price_list import PriceList
from warmfleet.plan.probes import explain_probes
from warmfleet.plan.promises import plan_slo
from warmfleet.plan.site_reasons import explain_sites, plan_rtt
from warmfleet.plan.site_rules import rules_of
from warmfleet.plan.sites import choose_sites
from warmfleet.plan.waiting import LongestAnswer, PlannedTimeouts, plan_timeouts
from warmfleet.resolve.facts import Facts
from warmfleet.spec.models import FleetSpec
from warmfleet.spec.placement import BaremetalPlacement

__all__ = ["plan_baremetal"]


def plan_baremetal(
    spec: FleetSpec, placement: BaremetalPlacement, facts: Facts, catalog: Catalog
) -> GpuFleetPlan:
    """Plan GPU servers; raises as plan_fleet does."""
    where = choose_sites(facts.users, rules_of(spec, catalog), catalog)
    wanted = wanted_models(spec, facts.models, catalog.peaks.second_to_minute)
    if facts.prices is None:  # resolve() has them wherever something is rented
        raise AssertionError(placement)
    prices = PriceList(facts.prices)
    staffed = staff_sites(wanted, where.sites, placement, prices, spec.updates, spec.slo)
    groups = [group for site in staffed for group in site.placed.groups]
    models = [
        plan_model(
            model.chosen,
            model.staffing,
            model.placed,
            load_host(placement, groups, model.chosen.wanted.spec.name),
            spec.slo,
            catalog,
        )
        for model in models_of(staffed)
    ]
    rtt = plan_rtt([row for site in where.serving for row in site.visitors])
    timeouts = _timeouts(models, staffed, spec.timeouts.asked)
    times = UpdateTimes(
        timeouts.chain.drain_s,
        timeouts.chain.queue_s,
        {model.plan.name: model.cold_start_s for model in models},
    )
    sites = [
        plan_site(index, one, where, times, spec, catalog, prices)
        for index, one in enumerate(staffed)
    ]
    floor = _floor(spec, staffed)
    cost = plan_cost(
        [site.plan for site in sites],
        facts.prices,
        placement.term.months if placement.term else None,
    )
    return GpuFleetPlan(
        kind="baremetal",
        catalog_version=catalog.version,
        spec_sha256=spec_digest(spec),
        environment=spec.name,
        counted_users=facts.counted,
        probes=facts.probes,
        rtt=rtt,
        sites=[site.plan for site in sites],
        models=[model.plan for model in models],
        timeouts=timeouts.chain,
        slo=plan_slo(spec.slo, cold_start_s=max(model.cold_start_s for model in models)),
        updates=UpdatesPlan(floor=floor.value),
        prices=facts.prices,
        cost=cost.plan,
        needed_by=placement.needed_by,
        leases=[
            LeasePlan(
                server=server.name, until=server.lease.until, reference=server.lease.reference
            )
            for server in placement.servers
            if server.lease is not None
        ],
        decisions=[
            *explain_users(facts.counted),
            *explain_probes(facts.probes, facts.users, [site.plan.region for site in sites]),
            *explain_sites(where, rtt),
            *(decision for site in sites for decision in site.decisions),
            *(decision for model in models for decision in model.decisions),
            *timeouts.decisions,
            floor.decision("updates.floor"),
            *cost.decisions,
        ],
    )


def _floor(spec: FleetSpec, staffed: Sequence[StaffedSite]) -> Choice[int]:
    """One figure for all models at all sites, the least of theirs; an update keeps each its own."""
    asked = spec.updates.floor
    if asked is not None:
        return Choice(asked, "asked for", {"floor": asked})
    least = min((one.floor, one.model) for site in staffed for one in site.updates)
    return Choice(least[0], f"the least of any model at any site: {least[1]}", {"model": least[1]})


def _timeouts(
    models: Sequence[PlannedModel], staffed: Sequence[StaffedSite], asked: Mapping[str, float]
) -> PlannedTimeouts:
    """All models share the path, so the slowest of them decides."""
    slowest = max(models, key=lambda model: model.slowest_generation_s)
    others = max(
        (model.slowest_generation_s for model in models if model is not slowest), default=0.0
    )
    alone = [
        model.cold_start_s
        for index, model in enumerate(models)
        if any(site.staffing[index].replicas.value == 1 for site in staffed)
    ]
    return plan_timeouts(
        LongestAnswer(
            at=f"models[{models.index(slowest)}]",
            tokens=slowest.plan.limits.max_output_tokens,
            seconds=lambda tokens: max(slowest.generation_s(tokens), others),
            speed="planned",
            source=slowest.speed.source,
        ),
        asked,
        budget_s=max(model.plan.warmup.budget_s for model in models),
        gap_s=max(alone) if alone else None,
    )
