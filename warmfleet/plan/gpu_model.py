"""One model of a GPU fleet: its part of the plan, each field with its reason."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from warmfleet.catalog.models import Catalog
from warmfleet.plan.choice import Choice
from warmfleet.plan.cold_start import PlannedColdStart, plan_cold_start
from warmfleet.plan.gpu_choice import Chosen
from warmfleet.plan.gpu_engine import plan_engine
from warmfleet.plan.gpu_engine_inputs import EngineInputs, PlannedEngine
from warmfleet.plan.gpu_memory import explain_memory, plan_memory
from warmfleet.plan.gpu_models import (
    CardsPlan,
    GpuModelPlan,
    MemoryPlan,
    QualityLossPlan,
    RefusedOffer,
    ThroughputPlan,
)
from warmfleet.plan.gpu_placement import Placed
from warmfleet.plan.gpu_reasons import explain_cards, explain_precision, explain_speed
from warmfleet.plan.gpu_replicas import Staffing
from warmfleet.plan.gpu_speed import RooflineSpeed
from warmfleet.plan.gpu_start import LoadHost, PlannedStart, plan_start
from warmfleet.plan.limits import choose_in_flight, plan_limits
from warmfleet.plan.models import Decision
from warmfleet.plan.warmup import PlannedWarmup, choose_probes, plan_warmup
from warmfleet.sizing.accuracy import expected_error
from warmfleet.sizing.ceiling import Ceiling, ceiling_of
from warmfleet.sizing.service import Service, service_of
from warmfleet.spec.models import SloSpec

__all__ = ["PlannedModel", "plan_model"]

_NOISE = 1.1
"""Two probes of a warm replica with cards of its own may differ by this: an assumption."""


class PlannedModel(Struct, frozen=True):
    """A model's part of the plan, and what the rest of the plan needs of it."""

    plan: GpuModelPlan
    decisions: tuple[Decision, ...]
    speed: RooflineSpeed
    cold_start_s: float
    context: int
    places: int

    @property
    def slowest_generation_s(self) -> float:
        """The longest prompt and answer while every place is taken."""
        return self.generation_s(self.plan.limits.max_output_tokens)

    def generation_s(self, tokens: int) -> float:
        """Seconds of the longest prompt and an answer of so many tokens, every place taken."""
        return self.speed.request_s(self.context - tokens, tokens, self.places)


def plan_model(
    chosen: Chosen,
    staffing: Staffing,
    placed: Placed,
    host: LoadHost,
    slo: SloSpec,
    catalog: Catalog,
) -> PlannedModel:
    """Plan one model on the cards that were chosen for it; ``host`` reads its weights.

    Raises:
        PlanRefusedError: starting and warming takes longer than the asked cold start.
    """
    offer, wanted = chosen.offer, chosen.wanted
    shares = wanted.spec.name in placed.shared
    # llama.cpp reserves the whole context of every place; vLLM gives cache out as it is needed.
    reserved = offer.engine.engine == "llamacpp"
    places = chosen.shared_places if shares or reserved else offer.streams
    ceiling = ceiling_of(wanted.demands, offer.roofline, places)
    seen = _seen(chosen, places)
    engine = _engine(chosen, ceiling, catalog, places=places, shares=shares)
    speed = RooflineSpeed(offer.roofline)
    slots = offer.fit.concurrency
    start = plan_start(chosen, engine.plan, host)
    probes = choose_probes(wanted.callers, speed, slots=slots)
    cold = plan_cold_start(start.start, probes, slo, words="planned")
    warmup = plan_warmup(
        probes,
        slo,
        callers=len(wanted.callers),
        slots=slots,
        noise=_NOISE,
        budget_s=cold.budget.value,
    )
    residency, stays = placed.residency[wanted.spec.name]
    plan = GpuModelPlan(
        name=wanted.spec.name,
        task=wanted.spec.task,
        facts=wanted.facts,
        precision=chosen.precision.id,
        quality=[
            QualityLossPlan(finding=str(loss), source=loss.source) for loss in chosen.choice.losses
        ],
        cards=CardsPlan(
            gpu=offer.layout.gpu.id,
            name=offer.layout.gpu.name,
            count=offer.layout.count,
            tensor_parallel=offer.layout.tensor_parallel,
            pipeline_parallel=offer.layout.pipeline_parallel,
        ),
        refused=[
            RefusedOffer(
                offer=f"{row.refused.layout.count} x {row.refused.layout.gpu.name}",
                precision=row.precision,
                why=row.refused.reason,
                missing_bytes=row.refused.missing_bytes or None,
            )
            for row in chosen.refused
        ],
        memory=plan_memory(chosen, shares=shares),
        throughput=ThroughputPlan(
            ttft_p95_s=seen.ttft_p95_s,
            stream_tokens_per_s=seen.stream_tokens_per_s if ceiling.tokens_per_s else 0,
            ceiling_tokens_per_s=ceiling.tokens_per_s,
            ceiling_qps=ceiling.requests_per_s,
            error_pct=expected_error(offer.roofline).median_pct,
        ),
        replicas=staffing.replicas.value,
        spare=staffing.spare,
        residency=residency,
        engine=engine.plan,
        cold_start=cold.plan,
        warmup=warmup.plan,
        limits=plan_limits(wanted.spec, places),
    )
    return PlannedModel(
        plan,
        tuple(
            _decisions(chosen, plan.memory, places, seen, ceiling, engine, staffing.replicas, stays)
        )
        + tuple(_start_decisions(wanted.at, start, cold, warmup, places)),
        speed,
        cold.objective.seconds,
        wanted.spec.context.tokens,
        places,
    )


def _seen(chosen: Chosen, places: int) -> Service:
    """Return what callers see of a replica with so many places."""
    offer = chosen.offer
    if places == offer.streams:
        return offer.deployment.service
    carry = offer.deployment.replicas.carry
    share = [replace(demand, rate=demand.rate / carry) for demand in chosen.wanted.demands]
    return service_of(share, offer.roofline, places)


def _engine(
    chosen: Chosen, ceiling: Ceiling, catalog: Catalog, *, places: int, shares: bool
) -> PlannedEngine:
    offer, demands = chosen.offer, chosen.wanted.demands
    prompts = sum(demand.rate * demand.prompt_tokens for demand in demands)
    rate = sum(demand.rate for demand in demands)
    return plan_engine(
        EngineInputs(
            precision=chosen.precision,
            published=chosen.wanted.facts.precision,
            layout=offer.layout,
            memory=offer.engine,
            places=places,
            shared_bytes=chosen.used_bytes if shares else None,
            context=chosen.wanted.spec.context.tokens,
            fit=offer.fit,
            peak_tokens_per_s=ceiling.tokens_per_s,
            peak_prompt_tokens_per_s=ceiling.requests_per_s * prompts / rate,
            front=catalog.front,
        )
    )


def _decisions(
    chosen: Chosen,
    memory: MemoryPlan,
    places: int,
    seen: Service,
    ceiling: Ceiling,
    engine: PlannedEngine,
    replicas: Choice[int],
    stays: Choice[str],
) -> Iterator[Decision]:
    at = chosen.wanted.at
    yield explain_precision(chosen).decision(f"{at}.precision")
    yield from explain_cards(chosen, f"{at}.cards")
    yield from explain_memory(chosen, memory, f"{at}.memory")
    yield from explain_speed(chosen, places, seen, ceiling, f"{at}.throughput")
    yield replicas.decision(f"{at}.replicas")
    yield stays.decision(f"{at}.residency.kind")
    yield from engine.decisions(f"{at}.engine")


def _start_decisions(
    at: str, start: PlannedStart, cold: PlannedColdStart, warmup: PlannedWarmup, places: int
) -> Iterator[Decision]:
    yield from start.decisions(f"{at}.cold_start")
    yield from cold.decisions(f"{at}.cold_start")
    yield warmup.shapes.decision(f"{at}.warmup.shapes")
    yield warmup.ratio.decision(f"{at}.warmup.ratio")
    yield cold.budget.decision(f"{at}.warmup.budget_s")
    yield choose_in_flight(places).decision(f"{at}.limits.max_in_flight")
