"""The settings that vLLM takes by itself, by its version and by the card."""

import re
from typing import Final

from warmfleet.sizing.engine_memory import EngineMemory

__all__ = ["parse_version", "step_tokens", "vllm_memory"]

Version = tuple[int, int]

_NEW_ENGINE: Final = (0, 8)
_NEW_ENGINE_ON_ROCM: Final = (0, 10)
_LARGE_BATCH_NOT_ON_A100: Final = (0, 9)
_LATENT: Final = (0, 7)
_CHUNKED: Final = (0, 5)
_LONGER_CHUNKS: Final = (0, 6)
_WINDOWS: Final = (0, 10)
_COUNTS_WHAT_IS_USED: Final = (0, 6)
_RESERVED = 1.32
"""Older versions took what the device was short of: 1.32 times what the formula says at 20000 and
at 24000 tokens (vllm-project/vllm issue 10517, version 0.5.4)."""

_LARGE_GIB = 70
_NEW_ENGINE_CAPABILITY = 8.0
_LONG_CONTEXT = 32768


def parse_version(text: str) -> Version | None:
    """Return major and minor number of ``0.9.1.dev148+g...``, ``vLLM 0.6`` or ``0.10.x``."""
    found = re.search(r"(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def step_tokens(total_gib: float) -> int:
    """Return the tokens of a step that the engine of 0.8 and later takes on a card of this size."""
    return 8192 if total_gib >= _LARGE_GIB else 2048


def vllm_memory(
    version: Version,
    *,
    total_gib: float,
    max_model_len: int,
    capability: float | None = None,
    a100: bool = False,
    rocm: bool = False,
    utilisation: float = 0.9,
    kv_dtype: str = "auto",
    eager: bool = False,
) -> EngineMemory:
    """Return what decides on memory when only these settings were given.

    The engine of 0.8 and later batches 8192 tokens of 1024 sequences on cards of 70 GiB and more
    (from 0.9 on not on A100), else 2048 of 256; it needs compute capability 8.0. The older one
    takes 256 sequences, and a batch as long as the context unless that is over 32768 tokens: then
    it cuts prompts into pieces. Source: vllm-project/vllm vllm/engine/arg_utils.py
    (get_batch_defaults, create_engine_config), pull 17885, issue 10517.

    Args:
        version: major and minor number.
        total_gib: of the card, as CUDA reports it.
        max_model_len: tokens of a request.
        capability: of the card; None: not known, taken as new enough.
        a100: the card is one.
        rocm: the card is AMD's.
        utilisation: share of the memory that the engine may use.
        kv_dtype: of the cache.
        eager: CUDA graphs are off.
    """
    new = version >= (_NEW_ENGINE_ON_ROCM if rocm else _NEW_ENGINE)
    if new and (capability is None or rocm or capability >= _NEW_ENGINE_CAPABILITY):
        small = a100 and version >= _LARGE_BATCH_NOT_ON_A100
        tokens = step_tokens(0 if small else total_gib)
        sequences = 1024 if tokens == step_tokens(_LARGE_GIB) else 256
    else:
        sequences, tokens = 256, max(2048, max_model_len)
        if max_model_len > _LONG_CONTEXT and version >= _CHUNKED and not rocm:
            tokens = 2048 if version >= _LONGER_CHUNKS else 512
    return EngineMemory(
        utilisation=utilisation,
        max_num_seqs=sequences,
        max_batched_tokens=tokens,
        kv_dtype=kv_dtype,
        graphs=not eager,
        windows=version >= _WINDOWS,
        latent=version >= _LATENT,
        reserved=1.0 if version >= _COUNTS_WHAT_IS_USED else _RESERVED,
    )
