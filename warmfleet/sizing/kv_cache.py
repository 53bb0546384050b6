"""Bytes of the KV cache on each GPU."""

import math
from typing import Final

from inference_app.problems import nearest
from warmfleet.catalog.architecture import Architecture
from warmfleet.errors import NameUnknownError

__all__ = ["KV_BITS", "kv_bits", "kv_bytes", "kv_bytes_per_token"]

KV_BITS: Final = {
    "auto": 16.0,
    "f32": 32.0,
    "f16": 16.0,
    "fp16": 16.0,
    "bf16": 16.0,
    "fp8": 8.0,
    "fp8_e4m3": 8.0,
    "fp8_e5m2": 8.0,
    "int8": 8.0,
    "q8_0": 8.5,
    "q5_1": 6.0,
    "q5_0": 5.5,
    "q4_1": 5.0,
    "q4_0": 4.5,
    "iq4_nl": 4.5,
}
"""Bits a cached value. llama.cpp packs 32 values into 34 (q8_0), 24, 22, 20 and 18 bytes:
ggml-org/llama.cpp ggml/src/ggml-common.h."""

_BITS = 8


def kv_bits(dtype: str) -> float:
    """Return the bits of one cached value.

    Raises:
        NameUnknownError: there is no such type; the nearest one is named.
    """
    try:
        return KV_BITS[dtype.lower()]
    except KeyError as error:
        hint = nearest(dtype, KV_BITS) or f"; known: {', '.join(KV_BITS)}"
        msg = f"no KV cache type {dtype!r}{hint}"
        raise NameUnknownError(msg) from error


def kv_bytes_per_token(
    architecture: Architecture,
    *,
    kv_dtype: str = "auto",
    value_dtype: str | None = None,
    tensor_parallel: int = 1,
    latent: bool = True,
) -> float:
    """Return the bytes that one token takes in the caches of all layers on one GPU.

    Keys and values of ``kv_heads / tensor_parallel`` heads, one at least; latent attention keeps
    ``kv_rank + rope_dim`` values instead, on every GPU. Layers with a window count in full here:
    it is what a token adds while it is inside of the window.

    Args:
        architecture: the model.
        kv_dtype: of keys, and of values where ``value_dtype`` is None.
        value_dtype: llama.cpp may keep values in a type of their own.
        tensor_parallel: GPUs that share a layer.
        latent: False for engines that expand latent attention into heads.
    """
    layers = architecture.full_attention_layers + architecture.windowed_layers
    return layers * _bytes_per_layer(
        architecture, kv_dtype, value_dtype, tensor_parallel, latent=latent
    )


def kv_bytes(
    architecture: Architecture,
    tokens: int,
    *,
    sequences: int = 1,
    kv_dtype: str = "auto",
    value_dtype: str | None = None,
    tensor_parallel: int = 1,
    windows: bool = True,
    latent: bool = True,
) -> int:
    """Return the bytes on one GPU for ``sequences`` requests of ``tokens`` each.

    Layers with a window keep its length at most, where the engine frees what is outside of it:
    vLLM from 0.10, llama.cpp from June 2025 (``windows``); older ones keep all.
    """
    shape = architecture
    kept = min(tokens, shape.sliding_window or tokens) if windows else tokens
    cached = shape.full_attention_layers * tokens + shape.windowed_layers * kept
    each = _bytes_per_layer(shape, kv_dtype, value_dtype, tensor_parallel, latent=latent)
    return math.ceil(sequences * cached * each)


def _bytes_per_layer(
    shape: Architecture,
    kv_dtype: str,
    value_dtype: str | None,
    tensor_parallel: int,
    *,
    latent: bool,
) -> float:
    keys, values = kv_bits(kv_dtype), kv_bits(value_dtype or kv_dtype)
    if shape.latent is not None and latent:
        return (shape.latent.kv_rank + shape.latent.rope_dim) * keys / _BITS
    heads = max(1, math.ceil(shape.kv_heads / tensor_parallel))
    value_dim = shape.head_dim
    if shape.latent is not None:
        value_dim = shape.latent.value_dim or shape.head_dim
    return heads * (shape.head_dim * keys + value_dim * values) / _BITS
