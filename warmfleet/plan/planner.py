"""The planner: spec, facts and catalog in, plan out. No clock, network, random or environment."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import PurePosixPath

from warmfleet.catalog.models import Catalog, Engine, HostSize
from warmfleet.errors import PlanRefusedError
from warmfleet.plan.bandwidth import plan_bandwidth
from warmfleet.plan.choice import Choice
from warmfleet.plan.lab import lab_endpoint, lab_hosts
from warmfleet.plan.load import choose_floor, choose_replicas, choose_slots, ttft_must_fit
from warmfleet.plan.memory import choose_replica_memory
from warmfleet.plan.models import (
    Decision,
    EngineKind,
    EnginePlan,
    FileSource,
    FleetPlan,
    HostPlan,
    HostRole,
    LimitsPlan,
    ModelPlan,
    PackageSource,
    Scalar,
    SitePlan,
    SloPlan,
    UpdatesPlan,
)
from warmfleet.plan.region import choose_region
from warmfleet.plan.speed import Speed, speed_of
from warmfleet.plan.timeouts import TimeoutChain, TimeoutInputs, solve_timeouts
from warmfleet.plan.warmup import plan_warmup
from warmfleet.resolve.facts import Facts, ModelFacts
from warmfleet.spec.models import FleetSpec, ModelSpec

__all__ = ["plan_fleet", "spec_digest"]

_IN_FLIGHT_PER_SLOT = 2
"""One request generating and one waiting: more would wait longer than it runs."""

_BODY_BYTES_PER_TOKEN = 32
"""JSON of the longest prompt: rarely above 5 characters a token, 6 bytes each when escaped."""

_SMALLEST_BODY_BYTES = 256 * 1024


def plan_fleet(spec: FleetSpec, facts: Facts, catalog: Catalog) -> FleetPlan:
    """Plan one environment.

    Raises:
        PlanRefusedError: nothing satisfies the spec; the message has the missing amount and the
            nearest thing that works.
    """
    model, found = _only_model(spec, facts)
    _model_must_offer(model, found)
    engine, kind = _choose_engine(model, found, catalog)
    speed = speed_of(engine.kind, found.shape, found.weights, catalog)
    ttft_must_fit(spec, speed)
    slots = choose_slots(spec.traffic.callers, speed, catalog.peaks)
    replicas = choose_replicas(spec, speed)
    floor = choose_floor(spec, replicas.value)
    region = choose_region(facts.users, catalog)
    line = plan_bandwidth(spec.traffic.callers, region.value, catalog)
    memory = choose_replica_memory(
        found.shape,
        found.weights,
        engine,
        catalog.lab,
        context=model.context.tokens,
        slots=slots.value,
    )
    cpus = _choose_cpus(engine, catalog)
    warmup = plan_warmup(
        spec.traffic.callers,
        spec.slo,
        speed,
        slots=slots.value,
        noise=catalog.lab.probe_noise,
    )
    inputs = _timeout_inputs(spec, model, speed, slots.value, replicas.value, warmup.plan.budget_s)
    timeouts = solve_timeouts(inputs)
    hosts = lab_hosts(
        spec.placement,
        replicas=replicas.value,
        gateway=catalog.lab.gateway,
        replica=HostSize(cpus=cpus.value, memory_mb=memory.value),
    )
    site = SitePlan(
        name=region.value,
        region=region.value,
        subnet=str(spec.placement.subnet),
        hosts=hosts,
        bandwidth=line.plan,
    )
    first_replica = next(index for index, host in enumerate(hosts) if host.role is HostRole.REPLICA)
    replica_at = f"sites[0].hosts[{first_replica}]"
    precision = _choose_precision(model, found)
    return FleetPlan(
        catalog_version=catalog.version,
        spec_sha256=spec_digest(spec),
        environment=spec.name,
        kind=spec.placement.kind,
        endpoint=lab_endpoint(spec.placement),
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
                warmup=warmup.plan,
                limits=_limits(model, slots.value),
            )
        ],
        timeouts=timeouts,
        slo=_slo(spec),
        updates=UpdatesPlan(floor=floor.value),
        decisions=[
            region.decision("sites[0].region"),
            line.line.decision("sites[0].bandwidth.line"),
            line.committed.decision("sites[0].bandwidth.committed_mbps"),
            line.burst.decision("sites[0].bandwidth.burst_mbps"),
            _explain_hosts(hosts, replicas).decision("sites[0].hosts"),
            memory.decision(f"{replica_at}.memory_mb"),
            cpus.decision(f"{replica_at}.cpus"),
            precision.decision("models[0].precision"),
            kind.decision("models[0].engine.kind"),
            slots.decision("models[0].engine.slots"),
            _explain_batch(engine).decision("models[0].engine.batch_tokens"),
            warmup.shapes.decision("models[0].warmup.shapes"),
            warmup.ratio.decision("models[0].warmup.ratio"),
            warmup.budget.decision("models[0].warmup.budget_s"),
            _explain_in_flight(slots.value).decision("models[0].limits.max_in_flight"),
            *_explain_timeouts(timeouts, inputs, speed),
            floor.decision("updates.floor"),
        ],
    )


def spec_digest(spec: FleetSpec) -> str:
    """Return the sha256 of what the spec says, however it is laid out in its file."""
    text = json.dumps(spec.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _only_model(spec: FleetSpec, facts: Facts) -> tuple[ModelSpec, ModelFacts]:
    if len(spec.models) > 1:
        msg = (
            f"models: {len(spec.models)} models, but a replica of the lab serves one "
            f"({len(spec.models) - 1} too many); nearest: one environment for each"
        )
        raise PlanRefusedError(msg)
    return spec.models[0], facts.models[0]


def _model_must_offer(model: ModelSpec, found: ModelFacts) -> None:
    shape, weights = found.shape, found.weights
    if model.task not in shape.tasks:
        offered = " or ".join(shape.tasks)
        msg = f"models[0].task: {shape.id} is not made for {model.task}; nearest: {offered}"
        raise PlanRefusedError(msg)
    if model.precision not in {"auto", weights.precision}:
        msg = (
            f"models[0].precision: asked {model.precision}, but {weights.file} is "
            f"{weights.precision}; nearest: {weights.precision} (or auto)"
        )
        raise PlanRefusedError(msg)
    missing = model.context.tokens - shape.max_context
    if missing > 0:
        msg = (
            f"models[0].context: asked {model.context}, but {shape.id} was trained for "
            f"{shape.max_context} tokens ({missing} missing); nearest: {shape.max_context}"
        )
        raise PlanRefusedError(msg)


def _choose_engine(
    model: ModelSpec, found: ModelFacts, catalog: Catalog
) -> tuple[Engine, Choice[str]]:
    asked, file_format = model.engine.kind, found.weights.format
    # The fake engine serves tests: it must be asked for by name.
    able = [row for row in catalog.engines if file_format in row.formats and row.kind != "fake"]
    if asked != "auto":
        able = [row for row in catalog.engines if file_format in row.formats and row.kind == asked]
    if not able:
        known = sorted({form for row in catalog.engines for form in row.formats})
        msg = (
            f"models[0].engine: no engine for weights in {file_format} (asked {asked}); "
            f"nearest: weights in {' or '.join(known)}"
        )
        raise PlanRefusedError(msg)
    engine = able[0]
    reason = f"reads {file_format}, the format of the weights"
    if asked != "auto":
        reason = f"asked for; {reason}"
    return engine, Choice(engine.kind, reason, {"format": file_format}, engine.source)


def _choose_precision(model: ModelSpec, found: ModelFacts) -> Choice[str]:
    offered = found.weights.precision
    reason = "asked for" if model.precision != "auto" else "the highest that the source offers"
    inputs = {"size_bytes": found.weights.size_bytes, "parameters": found.shape.parameters}
    return Choice(offered, reason, inputs, found.weights.source)


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


def _explain_in_flight(slots: int) -> Choice[int]:
    return Choice(
        slots * _IN_FLIGHT_PER_SLOT,
        "one request generating and one waiting for each slot; more is answered at once with 429",
        {"slots": slots, "per_slot": _IN_FLIGHT_PER_SLOT},
    )


def _limits(model: ModelSpec, slots: int) -> LimitsPlan:
    return LimitsPlan(
        max_output_tokens=model.max_output.tokens,
        max_body_bytes=max(_SMALLEST_BODY_BYTES, model.context.tokens * _BODY_BYTES_PER_TOKEN),
        max_in_flight=slots * _IN_FLIGHT_PER_SLOT,
    )


def _timeout_inputs(
    spec: FleetSpec, model: ModelSpec, speed: Speed, slots: int, replicas: int, budget_s: float
) -> TimeoutInputs:
    output = model.max_output.tokens
    return TimeoutInputs(
        slowest_generation_s=speed.request_s(model.context.tokens - output, output, slots),
        rounds=_IN_FLIGHT_PER_SLOT,
        warmup_budget_s=budget_s,
        gap_s=None if replicas > 1 else spec.slo.cold_start.seconds,
    )


def _explain_timeouts(
    chain: TimeoutChain, inputs: TimeoutInputs, speed: Speed
) -> Iterator[Decision]:
    yield Choice(
        chain.generation_s,
        f"the longest prompt and answer with every slot busy take "
        f"{inputs.slowest_generation_s:.0f} s by measured speed; half as much again, in tens",
        {"slowest_generation_s": inputs.slowest_generation_s},
        speed.rates.source,
    ).decision("timeouts.generation_s")
    yield Choice(
        chain.proxy_read_s,
        "a plain answer is silent while it waits for a slot and is generated: more than that many "
        "generations",
        {"generation_s": chain.generation_s, "rounds": inputs.rounds},
    ).decision("timeouts.proxy_read_s")
    yield Choice(
        chain.queue_s,
        "another replica is up: only until it is seen"
        if inputs.gap_s is None
        else "one replica alone: as long as its cold start",
        {"probe_interval_s": chain.probe_interval_s},
    ).decision("timeouts.queue_s")
    yield Choice(
        chain.service_keepalive_s,
        "replicas keep idle connections longer than the proxy, or it would reuse closed ones",
        {"proxy_keepalive_s": chain.proxy_keepalive_s},
    ).decision("timeouts.service_keepalive_s")


def _slo(spec: FleetSpec) -> SloPlan:
    return SloPlan(
        first_request_ratio=spec.slo.first_request.factor,
        cold_start_s=spec.slo.cold_start.seconds,
        ttft_p95_s=spec.slo.ttft_p95.seconds if spec.slo.ttft_p95 else None,
        availability=spec.slo.availability.fraction,
    )


def _source(found: ModelFacts) -> PackageSource | FileSource:
    if found.path is not None:
        return FileSource(path=found.path)
    return PackageSource(package=found.weights.package, file=found.weights.file)
