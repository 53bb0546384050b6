"""Why a model has its precision, its cards and its speed."""

from collections.abc import Iterator

from warmfleet.plan.choice import Choice
from warmfleet.plan.gpu_choice import Chosen
from warmfleet.plan.gpu_replicas import ROOFLINE
from warmfleet.plan.gpu_vllm import quantized_while_loading
from warmfleet.plan.models import Decision
from warmfleet.sizing.accuracy import expected_error
from warmfleet.sizing.ceiling import Ceiling
from warmfleet.sizing.service import Service

__all__ = ["explain_cards", "explain_precision", "explain_speed"]


def explain_precision(chosen: Chosen) -> Choice[str]:
    """Say why the weights have their precision."""
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


def explain_cards(chosen: Chosen, at: str) -> Iterator[Decision]:
    """Yield why these cards, and why so many of them."""
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


def explain_speed(
    chosen: Chosen, places: int, seen: Service, ceiling: Ceiling, at: str
) -> Iterator[Decision]:
    """Yield what callers see, and the most that a replica carries."""
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
