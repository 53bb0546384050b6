"""Which layers of a GGUF model keep a cache, and how much of it."""

from typing import Final

from msgspec import Struct

from warmfleet.resolve.gguf_keys import GgufKeys

__all__ = ["GgufLayers", "gguf_layers"]

# Every so many layers see the whole context, where the file does not say it: set_swa_pattern in
# ggml-org/llama.cpp src/llama-model.cpp, by general.architecture.
_PATTERNS: Final = {
    "afmoe": 4,
    "cohere2": 4,
    "exaone4": 4,
    "gemma2": 2,
    "gemma3": 6,
    "gemma3n": 5,
    "gpt-oss": 2,
    "llama4": 4,
    "olmo2": 4,
}
_LLAMA4_CHUNK: Final = 8192
"""Fixed there too."""


class GgufLayers(Struct, frozen=True):
    """Numbers of layers by what they keep."""

    full: int
    windowed: int
    window: int | None


def gguf_layers(keys: GgufKeys, layers: int) -> GgufLayers:
    """Count the kinds of layers.

    Raises:
        ValueError: a key has a value that cannot be.
    """
    kv_heads = keys.each("attention.head_count_kv", layers) or [1] * layers
    shared = keys.number("attention.shared_kv_layers", least=0) or 0
    keeping = [index for index in range(layers - shared) if kv_heads[index]]
    window = keys.number("attention.sliding_window", least=0)
    if keys.family == "llama4" and window is None:
        window = _LLAMA4_CHUNK
    pattern = keys.each("attention.sliding_window_pattern", layers)
    if pattern is not None and isinstance(keys.get("attention.sliding_window_pattern"), list):
        is_windowed = [bool(says) for says in pattern]
    else:
        every = pattern[0] if pattern else _PATTERNS.get(keys.family, 1)
        is_windowed = [every > 1 and index % every < every - 1 for index in range(layers)]
    windowed = sum(is_windowed[index] for index in keeping) if window else 0
    return GgufLayers(len(keeping) - windowed, windowed, window if windowed else None)
