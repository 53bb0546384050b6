"""Memory of a card, each part with its reason."""

from collections.abc import Iterator

from warmfleet.plan.choice import Choice, gib
from warmfleet.plan.gpu_choice import Chosen
from warmfleet.plan.gpu_models import MemoryPlan
from warmfleet.plan.gpu_vllm import share_of
from warmfleet.plan.models import Decision

__all__ = ["explain_memory", "plan_memory"]

_GIB = 2**30


def plan_memory(chosen: Chosen, *, shares: bool) -> MemoryPlan:
    """Return the memory of the card that holds most, at the busiest second.

    An engine that ``shares`` its card with another one has a budget of what it must have.
    """
    held, full = chosen.offer.fit, chosen.offer.full
    budget, room = held.budget, full.kv_room
    if shares:
        budget = int(share_of(chosen.used_bytes, held.total) * held.total)
        room = budget - held.weights - held.activation - held.non_torch
    tokens = room * held.context * held.concurrency // held.kv if held.kv else 0
    return MemoryPlan(
        total_bytes=held.total,
        budget_bytes=budget,
        weights_bytes=held.weights,
        kv_bytes=held.kv,
        activation_bytes=held.activation,
        non_torch_bytes=held.non_torch,
        graph_bytes=held.graphs,
        headroom_bytes=room - held.kv,
        planned_requests=held.concurrency,
        planned_tokens=held.context,
        kv_capacity_tokens=tokens if shares else held.kv_capacity_tokens,
        largest_concurrency=room // full.kv if full.kv else full.largest_concurrency,
        largest_context=held.context if shares else held.largest_context,
    )


def explain_memory(chosen: Chosen, memory: MemoryPlan, at: str) -> Iterator[Decision]:
    """Yield the decisions about the memory, ``at`` the model's path."""
    held, full, layout = chosen.offer.fit, chosen.offer.full, chosen.offer.layout
    shape, precision = chosen.wanted.facts.architecture, chosen.precision
    split = f", over {layout.count} cards" if layout.count > 1 else ""
    yield Choice(
        held.weights,
        f"{shape.parameters / 1e9:.2f}e9 parameters at {precision.linear_bits:g} bit, embeddings "
        f"at {precision.embedding_bits:g}{split}",
        {
            "parameters": shape.parameters,
            "linear_bits": precision.linear_bits,
            "embedding_bits": precision.embedding_bits,
            "tensor_parallel": layout.tensor_parallel,
        },
        precision.source,
    ).decision(f"{at}.weights_bytes")
    yield Choice(
        held.kv,
        f"{held.concurrency} requests of {held.context} tokens in the busiest second, "
        f"{held.kv / max(1, held.concurrency * held.context) / 1024:.1f} KiB a token",
        {
            "requests": held.concurrency,
            "tokens": held.context,
            "layers": shape.layers,
            "kv_heads": shape.kv_heads,
            "head_dim": shape.head_dim,
            "kv_dtype": chosen.offer.engine.kv_dtype,
            "in_flight_mean": chosen.offer.deployment.service.in_flight,
            "second_to_minute": chosen.wanted.peak,
        },
        f"shape of the model: {chosen.wanted.facts.found_in.get('architecture', 'catalog')}",
    ).decision(f"{at}.kv_bytes")
    yield Choice(
        held.activation,
        f"buffers of a step of {chosen.offer.engine.max_batched_tokens} tokens and "
        f"{chosen.offer.engine.max_num_seqs} requests; the larger of sampler and feed-forward",
        {
            "max_batched_tokens": chosen.offer.engine.max_batched_tokens,
            "max_num_seqs": chosen.offer.engine.max_num_seqs,
            "vocabulary": shape.vocabulary,
            "intermediate": shape.intermediate,
        },
        "fitted on logged activation peaks; see warmfleet/sizing/engine_memory.py",
    ).decision(f"{at}.activation_bytes")
    yield Choice(
        memory.headroom_bytes,
        f"budget {gib(memory.budget_bytes)} - weights {gib(held.weights)} - activations "
        f"{gib(held.activation)} - libraries {gib(held.non_torch)} - cache {gib(held.kv)} GiB"
        + _ease(chosen, memory),
        {
            "total_gib": held.total / _GIB,
            "utilisation": chosen.offer.engine.utilisation,
            "budget_gib": memory.budget_bytes / _GIB,
            "non_torch_gib": held.non_torch / _GIB,
        },
        layout.gpu.source,
    ).decision(f"{at}.headroom_bytes")
    yield Choice(
        memory.largest_concurrency,
        f"requests of the whole context, {full.context} tokens, at a time: "
        f"{gib(memory.kv_bytes + memory.headroom_bytes)} GiB of cache for {gib(full.kv)} each",
        {
            "kv_room_gib": (memory.kv_bytes + memory.headroom_bytes) / _GIB,
            "kv_of_one_gib": full.kv / _GIB,
            "kv_capacity_tokens": memory.kv_capacity_tokens,
        },
        "weights + activations + libraries + cache = total x utilisation, vLLM's own identity",
    ).decision(f"{at}.largest_concurrency")


def _ease(chosen: Chosen, memory: MemoryPlan) -> str:
    if memory.budget_bytes != chosen.offer.fit.budget:
        return ": what it must have beside the others on its card"
    alone = gib(chosen.offer.full.headroom)
    tight = "" if chosen.offer.comfortable else ", less than a tenth: tight"
    return f"; beside one request of the whole context {alone}{tight}"
