"""Does a model with its load fit on these GPUs, and what is the most that would?"""

import bisect
import math
from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from warmfleet.catalog.architecture import Architecture
from warmfleet.catalog.gpu import Gpu
from warmfleet.sizing.engine_memory import (
    EngineMemory,
    activation_bytes,
    graph_bytes,
    non_torch_bytes,
)
from warmfleet.sizing.kv_cache import kv_bytes
from warmfleet.sizing.precision import Precision
from warmfleet.sizing.weights import stage_layers, weights_bytes

__all__ = ["Fit", "Layout", "Verdict", "fit"]

Verdict = Literal["fits", "weights_do_not_fit", "batch_does_not_fit"]


class Layout(Struct, frozen=True):
    """GPUs that hold one copy of the model."""

    gpu: Gpu
    tensor_parallel: int = 1
    pipeline_parallel: int = 1

    @property
    def count(self) -> int:
        """GPUs altogether."""
        return self.tensor_parallel * self.pipeline_parallel


class Fit(Struct, frozen=True):
    """Memory of the GPU that holds most, in bytes."""

    total: int
    """What a program may have of the card."""
    budget: int
    """What the engine's utilisation leaves of it."""
    weights: int
    activation: int
    non_torch: int
    graphs: int
    kv_room: int
    """Left for the cache; negative: so much is missing before the first token."""
    kv: int
    """Cache of the asked requests at their full length."""
    context: int
    concurrency: int
    kv_capacity_tokens: int
    """Tokens that the cache holds in requests of the asked context."""
    largest_concurrency: int
    """Requests of the asked context at a time; 0: not one."""
    largest_context: int
    """Tokens of each of the asked requests, no more than the model was trained for; 0: none."""

    @property
    def headroom(self) -> int:
        """Bytes left beside the asked requests; negative: so much is missing."""
        return self.kv_room - self.kv

    @property
    def verdict(self) -> Verdict:
        """Tell the two cases of too little memory apart."""
        if self.kv_room <= 0:
            return "weights_do_not_fit"
        return "fits" if self.headroom >= 0 else "batch_does_not_fit"

    @property
    def missing(self) -> int:
        """Bytes missing on the GPU; 0 where it fits."""
        return max(0, -self.headroom)


def fit(
    architecture: Architecture,
    precision: Precision,
    layout: Layout,
    engine: EngineMemory,
    *,
    context: int,
    concurrency: int,
) -> Fit:
    """Work out the memory of ``concurrency`` requests of ``context`` tokens on each GPU.

    ``total x utilisation = weights + activation + non-torch + KV`` is vLLM's own identity: on 41
    logs it holds to 0.06 GiB (vllm-project/vllm vllm/worker/worker.py,
    determine_num_available_blocks). The total is what CUDA reports, not what the card is sold as;
    graphs come out of what the utilisation leaves. Pipeline stages share the cache by layers.
    """
    gpu, tensor = layout.gpu, layout.tensor_parallel
    total = gpu.cuda_total_bytes
    budget = int(total * engine.utilisation)
    weights = weights_bytes(
        architecture,
        precision,
        tensor_parallel=tensor,
        pipeline_parallel=layout.pipeline_parallel,
        engine=engine.engine,
    )
    activation = activation_bytes(architecture, engine, tensor_parallel=tensor, context=context)
    non_torch = non_torch_bytes(tensor_parallel=tensor, nvlink=gpu.nvlink_gb_s > 0)
    graphs = graph_bytes(architecture, engine, tensor_parallel=tensor)
    kv_room = min(budget, total - graphs) - weights - activation - non_torch
    fullest_stage = max(stage_layers(architecture.layers, layout.pipeline_parallel))

    def cache(tokens: int, sequences: int) -> int:
        whole = kv_bytes(
            architecture,
            tokens,
            sequences=sequences,
            kv_dtype=engine.kv_dtype,
            tensor_parallel=tensor,
            windows=engine.windows,
            latent=engine.latent,
        )
        return math.ceil(whole * fullest_stage / architecture.layers)

    room, one = max(0, kv_room), cache(context, 1)
    return Fit(
        total=total,
        budget=budget,
        weights=weights,
        activation=activation,
        non_torch=non_torch,
        graphs=graphs,
        kv_room=kv_room,
        kv=cache(context, concurrency),
        context=context,
        concurrency=concurrency,
        kv_capacity_tokens=room * context // one if one else 0,
        largest_concurrency=_requests(room, one, engine),
        largest_context=_longest(
            architecture.max_context, room, lambda tokens: cache(tokens, concurrency)
        ),
    )


def _longest(most: int, room: int, cache: Callable[[int], int]) -> int:
    """Return how many tokens of each request fit; the ends first, which most layouts are at."""
    if room <= 0:
        return 0
    if cache(most) <= room:
        return most
    return bisect.bisect_right(range(1, most), room, key=cache)


def _requests(room: int, one: int, engine: EngineMemory) -> int:
    """Return how many requests fit; models without a cache are bounded by the engine alone."""
    if one:
        return room // one
    return engine.max_num_seqs if room else 0
