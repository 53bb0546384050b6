"""One model of a GPU fleet: its part of the plan, each field with its reason."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from warmfleet.catalog.models import Catalog
from warmfleet.plan.choice import Choice
from warmfleet.plan.gpu_choice import Chosen
from warmfleet.plan.gpu_engine import (
    EngineInputs,
    PlannedEngine,
    plan_engine,
    quantized_while_loading,
)
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
from warmfleet.plan.gpu_replicas import ROOFLINE, Staffing
from warmfleet.plan.gpu_speed import RooflineSpeed
from warmfleet.plan.limits import choose_in_flight, plan_limits
from warmfleet.plan.models import Decision
from warmfleet.plan.warmup import PlannedWarmup, plan_warmup
from warmfleet.sizing.accuracy import expected_error
from warmfleet.sizing.ceiling import Ceiling, ceiling_of
from warmfleet.sizing.service import Service, service_of
from warmfleet.spec.models import SloSpec

__all__ = ["PlannedModel", "plan_model"]

_NOISE = 1.1
"""Two probes of a warm replica with cards of its own may differ by this: an assumption."""


@dataclass(frozen=True)
class PlannedModel:
    """A model's part of the plan, and what the rest of the plan needs of it."""

    plan: GpuModelPlan
    decisions: tuple[Decision, ...]
    speed: RooflineSpeed
    cold_start_s: float
    slowest_generation_s: float
    """The longest prompt and answer while every place is taken."""


def plan_model(
    chosen: Chosen, staffing: Staffing, placed: Placed, slo: SloSpec, catalog: Catalog
) -> PlannedModel:
    """Plan one model on the cards that were chosen for it.

    Raises:
        PlanRefusedError: starting and warming takes longer than the asked cold start.
    """
    offer, wanted = chosen.offer, chosen.wanted
    shares = wanted.spec.name in placed.shared
    places = chosen.shared_places if shares else offer.streams
    ceiling = ceiling_of(wanted.demands, offer.roofline, places)
    seen = _seen(chosen, places)
    engine = _engine(chosen, ceiling, catalog, places=places, shares=shares)
    speed = RooflineSpeed(offer.roofline, offer.fit.weights * offer.layout.count)
    warmup = plan_warmup(
        wanted.callers, slo, speed, slots=offer.fit.concurrency, noise=_NOISE, words="planned"
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
        warmup=warmup.plan,
        limits=plan_limits(wanted.spec, places),
    )
    output = wanted.spec.max_output.tokens
    return PlannedModel(
        plan,
        tuple(
            _decisions(
                chosen, plan.memory, places, seen, ceiling, engine, warmup, staffing.replicas, stays
            )
        ),
        speed,
        warmup.cold_start_s,
        speed.request_s(wanted.spec.context.tokens - output, output, places),
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
    warmup: PlannedWarmup,
    replicas: Choice[int],
    stays: Choice[str],
) -> Iterator[Decision]:
    at = chosen.wanted.at
    yield _explain_precision(chosen).decision(f"{at}.precision")
    yield from _explain_cards(chosen, f"{at}.cards")
    yield from explain_memory(chosen, memory, f"{at}.memory")
    yield from _explain_speed(chosen, places, seen, ceiling, f"{at}.throughput")
    yield replicas.decision(f"{at}.replicas")
    yield stays.decision(f"{at}.residency.kind")
    yield from engine.decisions(f"{at}.engine")
    yield warmup.shapes.decision(f"{at}.warmup.shapes")
    yield warmup.ratio.decision(f"{at}.warmup.ratio")
    yield warmup.budget.decision(f"{at}.warmup.budget_s")
    yield choose_in_flight(places).decision(f"{at}.limits.max_in_flight")


def _explain_precision(chosen: Chosen) -> Choice[str]:
    asked = chosen.wanted.spec.precision
    published = chosen.wanted.facts.precision
    reason = chosen.choice.reason
    if asked != "auto":
        reason = reason.replace("the highest that fits", "asked for", 1)
    if chosen.precision.id not in {published, chosen.wanted.published.id}:
        how = " and the engine converts it" if quantized_while_loading(chosen.precision) else ""
        reason += f"; the source has {published}{how or ': a repack is needed'}"
    return Choice(
        chosen.precision.id,
        reason,
        {"published": published, "linear_bits": chosen.precision.linear_bits},
        chosen.precision.source,
    )


def _explain_cards(chosen: Chosen, at: str) -> Iterator[Decision]:
    offer, gpu = chosen.offer, chosen.offer.layout.gpu
    yield Choice(
        gpu.id,
        "memory first, then speed, then price: "
        + ("comfortable" if offer.comfortable else "tight")
        + f" in {gpu.cuda_total_gib:g} GiB, {gpu.bandwidth_gb_s:g} GB/s; {_explain_price(chosen)}",
        {
            "memory_gb": gpu.memory_gb,
            "cuda_total_gib": gpu.cuda_total_gib,
            "bandwidth_gb_s": gpu.bandwidth_gb_s or 0.0,
            "fp16_tflops": gpu.fp16_tflops or 0.0,
            "headroom_gib": offer.fit.headroom / 2**30,
        },
        gpu.source,
    ).decision(f"{at}.gpu")
    yield Choice(
        offer.layout.count,
        _explain_count(chosen),
        {"cards_of_all_replicas": offer.cards},
        gpu.source,
    ).decision(f"{at}.count")


def _explain_count(chosen: Chosen) -> str:
    layout = chosen.offer.layout
    if layout.count == 1:
        return "one card holds the model and its load"
    fewer = [
        row.refused
        for row in chosen.refused
        if row.refused.layout.gpu == layout.gpu
        and row.precision == chosen.precision.id
        and row.refused.layout.count < layout.count
    ]
    if not fewer:
        return "fewer would be tight, or take more memory over all replicas"
    last = max(fewer, key=lambda row: row.layout.count)
    return f"{last.layout.count} would not do: {last.reason}"


def _explain_price(chosen: Chosen) -> str:
    if chosen.pool.leased:
        return "leased already"
    if chosen.pool.rent is None:
        return "without prices, the least memory over all cards that does"
    return f"{chosen.pool.rent:g} a card, the least rent of all cards that does"


def _explain_speed(
    chosen: Chosen, places: int, seen: Service, ceiling: Ceiling, at: str
) -> Iterator[Decision]:
    offer = chosen.offer
    off = str(expected_error(offer.roofline))
    yield Choice(
        seen.ttft_p95_s,
        "waiting for a place and for prompts ahead, the running step, the prompt and the engine's "
        f"own {offer.roofline.efficiency.request_s * 1000:.0f} ms; from the engine's door",
        {"utilisation": seen.utilisation, "in_flight": seen.in_flight, "places": places},
        f"{ROOFLINE}; {off}",
    ).decision(f"{at}.ttft_p95_s")
    if ceiling.tokens_per_s:
        yield Choice(
            seen.stream_tokens_per_s,
            f"one step over the {seen.in_flight:.1f} requests in flight, beside the prompts",
            {
                "in_flight": seen.in_flight,
                "bandwidth_gb_s": offer.roofline.card.bandwidth_gb_s,
                "reached": offer.roofline.efficiency.bandwidth,
            },
            f"{ROOFLINE}; {off}",
        ).decision(f"{at}.stream_tokens_per_s")
    yield Choice(
        ceiling.requests_per_s,
        f"requests a second of this mixture with all {places} places taken; computing alone "
        f"would allow {ceiling.unbounded_requests_per_s:.3g}",
        {
            "tokens_per_s": ceiling.tokens_per_s,
            "tflops": offer.roofline.card.tflops,
            "reached": offer.roofline.efficiency.compute,
        },
        f"{ROOFLINE}; {off}",
    ).decision(f"{at}.ceiling_qps")
