"""A 7B model in 16 bit: 14 GB of weights, more than 18 GB in use."""

import pytest

from warmfleet.catalog.gpu import find_gpu
from warmfleet.catalog.llm import llms
from warmfleet.sizing.engine_memory import EngineMemory
from warmfleet.sizing.fit import Fit, Layout, fit
from warmfleet.sizing.precision import find_precision

MODELS = {model.id: model.architecture for model in llms()}
QWEN_7B = MODELS["Qwen/Qwen2.5-7B-Instruct"]


def size(gpu: str, *, context: int = 8192, concurrency: int = 4, precision: str = "bf16") -> Fit:
    return fit(
        QWEN_7B,
        find_precision(precision),
        Layout(find_gpu(gpu)),
        EngineMemory(),
        context=context,
        concurrency=concurrency,
    )


def test_16_gb_is_refused_with_what_is_missing() -> None:
    found = size("Tesla T4")

    assert found.verdict == "weights_do_not_fit"
    assert found.kv_room < 0
    assert found.missing == found.kv - found.kv_room
    assert found.largest_concurrency == found.largest_context == 0


def test_24_gb_is_comfortable() -> None:
    found = size("RTX 3090")

    assert found.verdict == "fits"
    assert found.headroom > 0
    assert found.largest_concurrency >= 4
    assert size("RTX 3090", concurrency=found.largest_concurrency).verdict == "fits"
    assert size("RTX 3090", context=found.largest_context).verdict == "fits"


def test_too_large_a_batch_is_told_from_too_large_weights() -> None:
    found = size("RTX 3090", concurrency=100)

    assert found.verdict == "batch_does_not_fit"
    assert found.missing == -found.headroom > 0
    assert size("RTX 3090", concurrency=found.largest_concurrency + 1).missing > 0
    assert size("RTX 3090", precision="awq", concurrency=30).verdict == "fits"


@pytest.mark.parametrize(
    ("name", "precision", "logged_gib"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", "bf16", 14.2487),
        ("Qwen/Qwen2.5-0.5B-Instruct", "awq", 0.4315),
        ("meta-llama/Llama-3.1-8B-Instruct", "nf4", 5.5976),
        ("meta-llama/Llama-3.3-70B-Instruct", "fp8", 67.72),
        ("openai/gpt-oss-120b", "mxfp4", 64.38),
        ("meta-llama/Llama-3.1-8B-Instruct", "bf16", 14.9888),
        ("meta-llama/Llama-3.2-1B-Instruct", "bf16", 2.3185),
    ],
)
def test_weights_are_those_that_vllm_logs(name: str, precision: str, logged_gib: float) -> None:
    """Sources: vllm-project/vllm issues 15360, 16141; unslothai/notebooks; llm-d-planner."""
    found = fit(
        MODELS[name],
        find_precision(precision),
        Layout(find_gpu("H200")),
        EngineMemory(),
        context=1,
        concurrency=1,
    )

    assert found.weights / 2**30 == pytest.approx(logged_gib, rel=0.011)
