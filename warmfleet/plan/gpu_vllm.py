"""Arguments of vLLM."""

import math
from collections.abc import Mapping

from warmfleet.plan.choice import Choice, gib
from warmfleet.plan.gpu_engine_inputs import EngineInputs, PlannedEngine, choose_preprocessing
from warmfleet.plan.gpu_models import VllmPlan
from warmfleet.plan.models import Scalar
from warmfleet.sizing.fit import Layout
from warmfleet.sizing.precision import Precision

__all__ = ["plan_vllm", "quantized_while_loading", "share_of"]

_BUSY_SHARE = 0.7
"""Of a front-end process: above it, streams wait for each other on its one core."""

_BF16_CAPABILITY = 8.0
"""Cards before Ampere have no bfloat16."""

_WHILE_LOADING: Mapping[str, str] = {"fp8": "fp8", "nf4": "bitsandbytes"}
"""Precisions to which vLLM brings 16-bit weights by itself."""

_SIXTEEN_BIT = {"bf16", "fp16"}
_ARGUMENTS = "vllm-project/vllm vllm/engine/arg_utils.py"
_TUNING = "vllm-project/vllm docs/configuration/optimization.md"


def plan_vllm(inputs: EngineInputs) -> PlannedEngine:
    """Derive the arguments of ``vllm serve``."""
    layout, memory, fit = inputs.layout, inputs.memory, inputs.fit
    choices: dict[str, Choice[Scalar]] = {
        "max_model_len": _context(inputs),
        "max_num_seqs": Choice(
            inputs.places,
            f"requests of {fit.context} tokens that the cache holds; {fit.concurrency} are in "
            "flight in the busiest second, and what is more waits at the gateway",
            {"in_flight_at_peak": fit.concurrency, "kv_capacity_tokens": fit.kv_capacity_tokens},
            _ARGUMENTS,
        ),
        "max_num_batched_tokens": Choice(
            memory.max_batched_tokens,
            "tokens of a step: small steps keep running answers smooth, large ones read prompts "
            "sooner; 8192 on cards of 70 GiB and more, else 2048, as the engine has it",
            {"cuda_total_gib": layout.gpu.cuda_total_gib},
            _TUNING,
        ),
        "gpu_memory_utilization": _utilisation(inputs),
        "tensor_parallel_size": _parallel(layout),
        "dtype": _dtype(layout),
        "kv_cache_dtype": Choice(
            "fp8" if memory.kv_dtype == "fp8" else "auto",
            "asked for" if memory.kv_dtype == "fp8" else "16 bit, which costs no quality",
            {"asked": memory.kv_dtype},
            _ARGUMENTS,
        ),
        "api_server_count": _front_processes(inputs),
        "renderer_num_workers": choose_preprocessing(inputs),
    }
    if (quantization := _quantization(inputs)) is not None:
        choices["quantization"] = quantization
    values = {field: choice.value for field, choice in choices.items()}
    plan = VllmPlan(
        pipeline_parallel_size=layout.pipeline_parallel, **{"quantization": None, **values}
    )
    return PlannedEngine(plan, choices)


def share_of(used_bytes: int, total_bytes: int) -> float:
    """Return the utilisation that gives an engine so many bytes, in hundredths."""
    return math.ceil(100 * used_bytes / total_bytes) / 100


def quantized_while_loading(precision: Precision) -> bool:
    """Does vLLM bring 16-bit weights to this precision by itself?"""
    return precision.id in _WHILE_LOADING


def _utilisation(inputs: EngineInputs) -> Choice[Scalar]:
    fit = inputs.fit
    known = {"total_gib": fit.total / 2**30, "graphs_gib": fit.graphs / 2**30}
    if (used := inputs.shared_bytes) is not None:
        return Choice(
            share_of(used, fit.total),
            f"shares the card: {gib(used)} of {gib(fit.total)} GiB, for {inputs.places} requests "
            "at a time or one of the whole context",
            known | {"used_gib": used / 2**30},
            _ARGUMENTS,
        )
    return Choice(
        inputs.memory.utilisation,
        f"of {gib(fit.total)} GiB that a program may have; the rest is for CUDA graphs, "
        f"{gib(fit.graphs)} GiB, and for what else runs on the card",
        known,
        _ARGUMENTS,
    )


def _context(inputs: EngineInputs) -> Choice[Scalar]:
    return Choice(
        inputs.context,
        "context of the spec: a longer request is refused at once instead of pushing others out",
        {"kv_capacity_tokens": inputs.fit.kv_capacity_tokens},
        _ARGUMENTS,
    )


def _parallel(layout: Layout) -> Choice[Scalar]:
    if layout.count == 1:
        reason = "one card holds the model: no traffic between cards"
    else:
        link = "NVLink" if layout.gpu.nvlink_gb_s else "PCIe"
        reason = f"{layout.count} cards hold one copy; they meet twice a layer, over {link}"
    inputs = {"cards": layout.count, "nvlink_gb_s": layout.gpu.nvlink_gb_s}
    return Choice(layout.tensor_parallel, reason, inputs, layout.gpu.source)


def _dtype(layout: Layout) -> Choice[Scalar]:
    capability = layout.gpu.compute_capability
    old = layout.gpu.vendor == "NVIDIA" and float(capability or 0) < _BF16_CAPABILITY
    return Choice(
        "float16" if old else "auto",
        f"compute capability {capability} has no bfloat16" if old else "as the checkpoint has it",
        {"compute_capability": capability or "unknown"},
        layout.gpu.source,
    )


def _quantization(inputs: EngineInputs) -> Choice[Scalar] | None:
    wanted = inputs.precision.id
    if inputs.published not in _SIXTEEN_BIT or wanted not in _WHILE_LOADING:
        return None
    return Choice(
        _WHILE_LOADING[wanted],
        f"the source has {inputs.published}; the engine brings it to {wanted} while it loads",
        {"published": inputs.published},
        _ARGUMENTS,
    )


def _front_processes(inputs: EngineInputs) -> Choice[Scalar]:
    busy = inputs.peak_tokens_per_s * inputs.front.core_s_per_event
    return Choice(
        max(1, math.ceil(round(busy / _BUSY_SHARE, 9))),
        f"{inputs.peak_tokens_per_s:.0f} answer tokens a second at the ceiling keep {busy:.2f} "
        f"cores busy with events; one process has one core, busy to {_BUSY_SHARE:.0%} at most",
        {
            "tokens_per_s": inputs.peak_tokens_per_s,
            "core_s_per_event": inputs.front.core_s_per_event,
        },
        inputs.front.source,
    )
