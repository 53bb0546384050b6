"""Files that llama.cpp wrote are as large as it says."""

import pytest

from warmfleet.catalog.names import find_model
from warmfleet.sizing.precision import find_precision
from warmfleet.sizing.weights import weights_bytes


@pytest.mark.parametrize(
    ("name", "mixture", "gib"),
    [
        ("Llama-3.1-8B", "q4_k_m", 4.58),
        ("Llama-3.1-8B", "q4_k_s", 4.36),
        ("Llama-3.1-8B", "q5_k_m", 5.33),
        ("Llama-3.1-8B", "q6_k", 6.14),
        ("Llama-3.1-8B", "q8_0", 7.95),
        ("Llama-3.1-8B", "f16", 14.96),
        ("Qwen2.5-32B-Instruct", "q4_k_m", 18.48),
    ],
)
def test_sizes_of_files(name: str, mixture: str, gib: float) -> None:
    """Sources: ggml-org/llama.cpp tools/quantize/README.md; issue 10152."""
    size = weights_bytes(find_model(name).architecture, find_precision(mixture))

    assert size / 2**30 == pytest.approx(gib, rel=0.01)


def test_rows_that_blocks_do_not_divide_take_another_type() -> None:
    shape = find_model("Qwen2.5-0.5B-Instruct").architecture
    mixture = weights_bytes(shape, find_precision("q4_k_m"))

    # 896 is no multiple of 256: most tensors become Q5_0, the table Q8_0 (0.37 GiB printed).
    assert mixture / shape.parameters * 8 > 6


def test_the_input_embedding_may_stay_on_the_host() -> None:
    shape = find_model("Llama-3.1-8B").architecture
    precision = find_precision("q4_k_m")
    whole = weights_bytes(shape, precision)

    # Model buffer 4403.49 MiB, host buffer 281.81 MiB: ggml-org/llama.cpp issue 10701.
    on_gpu = weights_bytes(shape, precision, engine="llamacpp")
    assert on_gpu / 2**20 == pytest.approx(4403.49, rel=0.005)
    assert (whole - on_gpu) / 2**20 == pytest.approx(281.81, rel=0.005)
