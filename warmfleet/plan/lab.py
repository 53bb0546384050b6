"""The lab: containers on this machine, at the speed that was measured there."""

from pathlib import PurePosixPath

from warmfleet.catalog.models import Catalog, Engine, HostSize
from warmfleet.errors import PlanRefusedError
from warmfleet.plan.bandwidth import SiteTraffic, plan_bandwidth, site_callers
from warmfleet.plan.choice import Choice
from warmfleet.plan.cold_start import plan_cold_start
from warmfleet.plan.counted_users import explain_users
from warmfleet.plan.digest import spec_digest
from warmfleet.plan.lab_engine import choose_engine, choose_precision, model_must_offer
from warmfleet.plan.lab_hosts import lab_endpoint, lab_hosts
from warmfleet.plan.lab_start import lab_start
from warmfleet.plan.lab_weights import LabWeights, lab_weights
from warmfleet.plan.limits import choose_in_flight, plan_limits
from warmfleet.plan.load import choose_floor, choose_replicas, choose_slots, ttft_must_fit
from warmfleet.plan.memory import choose_replica_memory
from warmfleet.plan.models import (
    EngineKind,
    EnginePlan,
    FileSource,
    FleetPlan,
    HostPlan,
    HostRole,
    ModelPlan,
    PackageSource,
    Scalar,
    SitePlan,
    UpdatesPlan,
)
from warmfleet.plan.probes import explain_probes
from warmfleet.plan.promises import plan_slo
from warmfleet.plan.site_reasons import choose_region
from warmfleet.plan.site_rules import rules_of
from warmfleet.plan.sites import choose_sites
from warmfleet.plan.speed import speed_of
from warmfleet.plan.waiting import LongestAnswer, plan_timeouts
from warmfleet.plan.warmup import choose_probes, plan_warmup
from warmfleet.resolve.facts import Facts
from warmfleet.spec.models import FleetSpec, ModelSpec, UpdatesSpec
from warmfleet.spec.placement import LabPlacement
from warmfleet.spec.units import Duration

__all__ = ["plan_lab"]

_COLD_START = Duration.parse("60 s")
"""Of the lab's small model, where the spec does not say."""


def plan_lab(spec: FleetSpec, placement: LabPlacement, facts: Facts, catalog: Catalog) -> FleetPlan:
    """Plan the lab; raises as plan_fleet does."""
    model, found = _only_model(spec, facts, catalog)
    model_must_offer(model, found)
    engine, kind = choose_engine(model, found, catalog)
    speed = speed_of(engine.kind, found.shape, found.weights, catalog)
    ttft_must_fit(spec, speed)
    slots = choose_slots(spec.traffic.callers, speed, catalog.peaks)
    replicas = choose_replicas(spec, placement, speed)
    _must_swap(spec.updates)
    floor = choose_floor(spec, replicas.value)
    where = choose_sites(facts.users, rules_of(spec, catalog), catalog)
    region = choose_region(where, where.sites[0])
    line = plan_bandwidth(
        SiteTraffic(
            region=region.value,
            users=facts.users,
            callers=site_callers(spec, [found.shape.architecture.hidden]),
        ),
        spec,
        catalog,
        rtt_p95_ms=where.rules.limit_ms,
    )
    memory = choose_replica_memory(
        found.shape,
        found.weights,
        engine,
        catalog.lab,
        context=model.context.tokens,
        slots=slots.value,
    )
    cpus = _choose_cpus(engine, catalog)
    slo = spec.slo.model_copy(update={"cold_start": spec.slo.cold_start or _COLD_START})
    probes = choose_probes(spec.traffic.callers, speed, slots=slots.value)
    start = lab_start(speed.rates.start, found.weights.size_bytes)
    cold = plan_cold_start(start, probes, slo, words="measured")
    warmup = plan_warmup(
        probes,
        slo,
        callers=len(spec.traffic.callers),
        slots=slots.value,
        noise=catalog.lab.probe_noise,
        budget_s=cold.budget.value,
    )
    context = model.context.tokens
    timeouts = plan_timeouts(
        LongestAnswer(
            at="models[0]",
            tokens=model.max_output.tokens,
            seconds=lambda tokens: speed.request_s(context - tokens, tokens, slots.value),
            speed="measured",
            source=speed.source,
        ),
        spec.timeouts.asked,
        budget_s=cold.budget.value,
        gap_s=None if replicas.value > 1 else cold.objective.seconds,
    )
    hosts = lab_hosts(
        placement,
        replicas=replicas.value,
        gateway=catalog.lab.gateway,
        replica=HostSize(cpus=cpus.value, memory_mb=memory.value),
    )
    site = SitePlan(
        name=region.value,
        region=region.value,
        subnet=str(placement.subnet),
        hosts=hosts,
        bandwidth=line.plan,
    )
    first_replica = next(index for index, host in enumerate(hosts) if host.role is HostRole.REPLICA)
    replica_at = f"sites[0].hosts[{first_replica}]"
    precision = choose_precision(model, found)
    return FleetPlan(
        catalog_version=catalog.version,
        spec_sha256=spec_digest(spec),
        environment=spec.name,
        counted_users=facts.counted,
        probes=facts.probes,
        kind=placement.kind,
        endpoint=lab_endpoint(placement),
        sites=[site],
        models=[
            ModelPlan(
                name=model.name,
                task=model.task,
                source=_source(found),
                file_name=PurePosixPath(found.path or found.weights.file).name,
                size_bytes=found.weights.size_bytes,
                sha256=found.weights.sha256,
                precision=precision.value,
                engine=EnginePlan(
                    kind=EngineKind(engine.kind),
                    context_tokens=model.context.tokens,
                    slots=slots.value,
                    threads=engine.threads,
                    batch_tokens=engine.batch_tokens,
                    options=model.engine.options,
                ),
                cold_start=cold.plan,
                warmup=warmup.plan,
                limits=plan_limits(model, slots.value),
            )
        ],
        timeouts=timeouts.chain,
        slo=plan_slo(spec.slo, cold_start_s=cold.objective.seconds),
        updates=UpdatesPlan(floor=floor.value),
        decisions=[
            *explain_users(facts.counted),
            *explain_probes(facts.probes, facts.users, [region.value]),
            region.decision("sites[0].region"),
            *line.decisions("sites[0].bandwidth"),
            _explain_hosts(hosts, replicas).decision("sites[0].hosts"),
            memory.decision(f"{replica_at}.memory_mb"),
            cpus.decision(f"{replica_at}.cpus"),
            precision.decision("models[0].precision"),
            kind.decision("models[0].engine.kind"),
            slots.decision("models[0].engine.slots"),
            _explain_batch(engine).decision("models[0].engine.batch_tokens"),
            *cold.decisions("models[0].cold_start"),
            warmup.shapes.decision("models[0].warmup.shapes"),
            warmup.ratio.decision("models[0].warmup.ratio"),
            cold.budget.decision("models[0].warmup.budget_s"),
            choose_in_flight(slots.value).decision("models[0].limits.max_in_flight"),
            *timeouts.decisions,
            floor.decision("updates.floor"),
        ],
    )


def _must_swap(asked: UpdatesSpec) -> None:
    if asked.strategy not in {"auto", "drain_then_swap"}:
        msg = (
            f"updates.strategy: asked {asked.strategy}, but a container of the lab has memory for "
            "one copy of the model, and there is no second set; nearest: drain_then_swap, or auto"
        )
        raise PlanRefusedError(msg)


def _only_model(spec: FleetSpec, facts: Facts, catalog: Catalog) -> tuple[ModelSpec, LabWeights]:
    if len(spec.models) > 1:
        msg = (
            f"models: {len(spec.models)} models, but a replica of the lab serves one "
            f"({len(spec.models) - 1} too many); nearest: one environment for each"
        )
        raise PlanRefusedError(msg)
    return spec.models[0], lab_weights(facts.models[0], catalog)


def _explain_hosts(hosts: list[HostPlan], replicas: Choice[int]) -> Choice[list[Scalar]]:
    names: list[Scalar] = [host.name for host in hosts]
    reason = f"a gateway and {replicas.value} replicas: {replicas.reason}"
    return Choice(names, reason, replicas.inputs, replicas.source)


def _choose_cpus(engine: Engine, catalog: Catalog) -> Choice[float]:
    extra = catalog.lab.replica_extra_cpus
    return Choice(
        engine.threads + extra,
        f"{engine.threads} for the engine's threads and {extra:g} for the service in front",
        {"threads": engine.threads, "service": extra},
        f"{engine.source}; {catalog.lab.source}",
    )


def _explain_batch(engine: Engine) -> Choice[int]:
    return Choice(
        engine.batch_tokens,
        "prompt tokens of one step: a client that leaves stops its prompt after one",
        {},
        engine.source,
    )


def _source(found: LabWeights) -> PackageSource | FileSource:
    if found.path is not None:
        return FileSource(path=found.path)
    return PackageSource(package=found.weights.package, file=found.weights.file)
