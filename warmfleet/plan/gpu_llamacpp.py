"""Arguments of llama.cpp's server."""

from warmfleet.plan.choice import Choice
from warmfleet.plan.gpu_engine_inputs import EngineInputs, PlannedEngine, choose_preprocessing
from warmfleet.plan.gpu_models import LlamacppPlan
from warmfleet.plan.models import Scalar

__all__ = ["plan_llamacpp"]

_ALL_LAYERS = 999
_BATCH = 2048
_ARGUMENTS = "ggml-org/llama.cpp tools/server/README.md"


def plan_llamacpp(inputs: EngineInputs) -> PlannedEngine:
    """Derive the arguments; all layers are on the card."""
    memory, fit = inputs.memory, inputs.fit
    kv_dtype = {"auto": "f16", "fp16": "f16"}.get(memory.kv_dtype, memory.kv_dtype)
    choices: dict[str, Choice[Scalar]] = {
        "parallel": Choice(
            inputs.places,
            f"twice the {fit.concurrency} in flight in the busiest second, 8 at least, as far as "
            "the card holds them: each has the whole context to itself",
            {"in_flight_at_peak": fit.concurrency},
            _ARGUMENTS,
        ),
        "ctx_size": Choice(
            inputs.context * inputs.places,
            f"{inputs.places} slots share it: {inputs.context} tokens for each",
            {"context": inputs.context, "slots": inputs.places},
            _ARGUMENTS,
        ),
        "ubatch_size": Choice(
            memory.max_batched_tokens,
            "prompt tokens of one step on the card; its buffers grow with it",
            {},
            _ARGUMENTS,
        ),
        "cache_type_k": Choice(
            kv_dtype,
            "16 bit, which costs no quality" if kv_dtype == "f16" else "asked for",
            {},
            _ARGUMENTS,
        ),
        "threads": Choice(
            1,
            "all layers are on the card: more threads would wait for it together",
            {},
            _ARGUMENTS,
        ),
        "threads_http": choose_preprocessing(inputs),
    }
    plan = LlamacppPlan(
        parallel=inputs.places,
        ctx_size=inputs.context * inputs.places,
        batch_size=max(_BATCH, memory.max_batched_tokens),
        ubatch_size=memory.max_batched_tokens,
        n_gpu_layers=_ALL_LAYERS,
        flash_attn=memory.flash_attention,
        cache_type_k=kv_dtype,
        cache_type_v=kv_dtype,
        threads=1,
        threads_http=int(choices["threads_http"].value),
    )
    return PlannedEngine(plan, choices)
