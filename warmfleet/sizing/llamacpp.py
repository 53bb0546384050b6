"""What llama.cpp does its own way."""

__all__ = ["cache_window"]

_ROUNDED_TO = 256


def cache_window(window: int, *, batch: int, sequences: int = 1) -> int:
    """Return the tokens that layers with a window keep for ``sequences`` requests.

    The window of each and one batch on top, rounded up to 256: Gemma 3 4B with a window of 1024
    and a batch of 512 keeps 1536 (254 MiB at 4096 tokens, ggml-org/llama.cpp issue 14469).
    Source: ggml-org/llama.cpp src/llama-kv-cache-iswa.cpp.
    """
    return -(-(window * sequences + batch) // _ROUNDED_TO) * _ROUNDED_TO
