"""Arguments of engines, against what the sizing and the load give."""

from typing import get_args

import pytest
from msgspec.structs import replace

from warmfleet.catalog.gpu import find_gpu
from warmfleet.catalog.llm import llms
from warmfleet.catalog.load import load_catalog
from warmfleet.plan.gpu_engine import plan_engine
from warmfleet.plan.gpu_engine_inputs import EngineInputs
from warmfleet.plan.gpu_models import LlamacppPlan, VllmPlan
from warmfleet.sizing.engine_memory import EngineMemory
from warmfleet.sizing.fit import Layout, fit
from warmfleet.sizing.kv_cache import KV_BITS
from warmfleet.sizing.precision import PRECISIONS, find_precision
from warmfleet.spec.models import ModelSpec

QWEN = next(row for row in llms() if row.id == "Qwen/Qwen2.5-7B-Instruct").architecture


def _inputs(
    gpu: str = "rtx4090", memory: EngineMemory | None = None, precision: str = "bf16", **changes
) -> EngineInputs:
    memory = memory or EngineMemory(max_num_seqs=16)
    layout, kind = Layout(find_gpu(gpu)), find_precision(precision)
    inputs = EngineInputs(
        precision=kind,
        published="bf16",
        layout=layout,
        memory=memory,
        places=16,
        shared_bytes=None,
        context=8192,
        fit=fit(QWEN, kind, layout, memory, context=8192, concurrency=12),
        peak_tokens_per_s=900,
        peak_prompt_tokens_per_s=3000,
        front=load_catalog().front,
    )
    return replace(inputs, **changes)


def _vllm(inputs: EngineInputs) -> VllmPlan:
    plan = plan_engine(inputs).plan
    assert isinstance(plan, VllmPlan)
    return plan


def test_the_arguments_of_vllm_are_those_that_the_memory_was_worked_out_for() -> None:
    assert _vllm(_inputs()) == VllmPlan(
        dtype="auto",
        max_model_len=8192,
        max_num_seqs=16,
        max_num_batched_tokens=2048,
        gpu_memory_utilization=0.9,
        tensor_parallel_size=1,
        pipeline_parallel_size=1,
        kv_cache_dtype="auto",
        api_server_count=1,
        renderer_num_workers=1,
    )


def test_several_cards_are_said_to_the_engine() -> None:
    layout = Layout(find_gpu("h100-sxm"), tensor_parallel=4, pipeline_parallel=2)

    plan = _vllm(_inputs(layout=layout))

    assert (plan.tensor_parallel_size, plan.pipeline_parallel_size) == (4, 2)


@pytest.mark.parametrize(("gpu", "dtype"), [("t4", "float16"), ("v100-sxm2-32", "float16"),
                                            ("a10", "auto"), ("mi300x", "auto")])  # fmt: skip
def test_cards_without_bfloat16_compute_in_float16(gpu: str, dtype: str) -> None:
    assert _vllm(_inputs(gpu)).dtype == dtype


@pytest.mark.parametrize(
    ("precision", "published", "argument"),
    [
        ("bf16", "bf16", None),
        ("fp8", "bf16", "fp8"),
        ("fp8", "fp8", None),  # the checkpoint says it
        ("nf4", "fp16", "bitsandbytes"),
        ("awq", "awq", None),
    ],
)
def test_what_is_quantised_while_loading_is_said_to_the_engine(
    precision: str, published: str, argument: str | None
) -> None:
    assert _vllm(_inputs(precision=precision, published=published)).quantization == argument


def test_front_processes_and_threads_follow_from_the_ceiling() -> None:
    # 24,000 x 0.000087 = 2.09 cores, at most 0.7 each; 250,000 / 100,000 a thread
    plan = _vllm(_inputs(peak_tokens_per_s=24_000, peak_prompt_tokens_per_s=250_000))

    assert (plan.api_server_count, plan.renderer_num_workers) == (3, 3)


def test_the_arguments_of_llamacpp_hold_a_full_context_for_each_slot() -> None:
    memory = EngineMemory(engine="llamacpp", max_batched_tokens=512, kv_dtype="q8_0")

    plan = plan_engine(_inputs(memory=memory, precision="q4_k_m")).plan

    assert isinstance(plan, LlamacppPlan)
    assert (plan.parallel, plan.ctx_size, plan.ubatch_size) == (16, 16 * 8192, 512)
    assert (plan.cache_type_k, plan.cache_type_v, plan.flash_attn) == ("q8_0", "q8_0", True)


@pytest.mark.parametrize("engine", ["vllm", "llamacpp"])
def test_every_choice_is_the_value_of_its_argument_with_reason_and_source(engine: str) -> None:
    memory = EngineMemory(engine=engine, max_batched_tokens=512)

    planned = plan_engine(_inputs(memory=memory))

    for decision in planned.decisions("models[0].engine"):
        assert getattr(planned.plan, decision.field.rpartition(".")[2]) == decision.value
        assert decision.reason
        assert decision.source


def test_an_engine_that_shares_its_card_takes_what_it_needs_and_no_more() -> None:
    inputs = _inputs("l40s", shared_bytes=8 * 2**30)

    share = _vllm(inputs).gpu_memory_utilization

    needed = 8 * 2**30 / inputs.fit.total
    assert needed <= share < needed + 0.01


def test_a_spec_names_formats_and_cache_types_that_the_physics_knows() -> None:
    precisions = set(get_args(ModelSpec.model_fields["precision"].annotation)) - {"auto"}
    caches = set(get_args(ModelSpec.model_fields["kv_dtype"].annotation)) - {"auto"}

    assert precisions <= set(PRECISIONS)
    assert caches <= set(KV_BITS)
