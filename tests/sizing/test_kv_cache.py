"""Caches are as large as engines print them."""

import pytest

from warmfleet.catalog.names import find_model
from warmfleet.errors import NameUnknownError
from warmfleet.sizing.kv_cache import kv_bits, kv_bytes, kv_bytes_per_token
from warmfleet.sizing.llamacpp import cache_window

MIB = 2**20
GEMMA_4B = find_model("gemma-3-4b-it").architecture
V3 = find_model("DeepSeek-V3").architecture
QWEN_235B = find_model("Qwen3-235B-A22B").architecture


def test_latent_attention_is_small_and_whole_on_every_gpu() -> None:
    # ik_llama.cpp discussion 258: 2196 MiB at 32768 tokens; discussion 286: 2440 at 512 without.
    assert kv_bytes(V3, 32768) == 2196 * MIB
    assert kv_bytes(V3, 32768, tensor_parallel=8) == 2196 * MIB
    assert kv_bytes(V3, 512, latent=False) == 2440 * MIB


def test_windows_stop_growing_where_the_engine_honours_them() -> None:
    kept = cache_window(1024, batch=512)
    shape = GEMMA_4B.model_copy(update={"sliding_window": kept})

    # ggml-org/llama.cpp issue 14469: 254 MiB at 4096 tokens.
    assert kv_bytes(shape, 4096) == 254 * MIB
    assert kv_bytes(shape, 4096, windows=False) == 544 * MIB
    assert kv_bytes(shape, 1000) == kv_bytes(shape, 1000, windows=False)


@pytest.mark.parametrize(("tensor", "share"), [(2, 2), (4, 4), (8, 4)])
def test_more_gpus_than_kv_heads_repeat_them(tensor: int, share: int) -> None:
    alone = kv_bytes_per_token(QWEN_235B)
    assert kv_bytes_per_token(QWEN_235B, tensor_parallel=tensor) == alone / share


@pytest.mark.parametrize(
    ("name", "types", "tokens", "mib"),
    [
        ("Qwen3-235B-A22B", ("q8_0", "q8_0"), 32768, 3196.0),
        ("Llama-3.1-8B", ("iq4_nl", "f16"), 1024, 82.0),
        ("Llama-3.1-8B", ("q4_0", "q4_0"), 131072, 4608.0),
        ("c4ai-command-r-v01", ("q8_0", "f16"), 512, 490.0),
    ],
)
def test_packed_types(name: str, types: tuple[str, str], tokens: int, mib: float) -> None:
    """ik_llama.cpp discussion 357, issue 103; ggml-org/llama.cpp issues 9949, 6112."""
    keys, values = types
    size = kv_bytes(find_model(name).architecture, tokens, kv_dtype=keys, value_dtype=values)
    assert size / MIB == pytest.approx(mib, rel=1e-4)


def test_an_unknown_type_names_the_nearest() -> None:
    with pytest.raises(NameUnknownError, match=r"no KV cache type 'q8'; did you mean 'q8_0'"):
        kv_bits("q8")
