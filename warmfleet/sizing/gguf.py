"""Which type llama.cpp gives each tensor of a model when it writes a mixture such as Q4_K_M."""

from typing import Final

from warmfleet.catalog.architecture import Architecture
from warmfleet.sizing.bits import Bits
from warmfleet.sizing.gguf_mixtures import BLOCK, FALLBACK, MIXTURES, TYPE_BITS, Rules, always, the
from warmfleet.sizing.parts import Parts

__all__ = ["GGUF_TYPES", "gguf_bits"]

GGUF_TYPES: Final = {name: TYPE_BITS[base] for name, (base, _) in MIXTURES.items()}
"""Mixtures by their names, in small letters, with the bits of the type that most tensors have."""

_F32 = 32.0
_GROUPED = 4
_EIGHT_EXPERTS = 8
_SEVENTY_B_LAYERS, _SEVENTY_B_GROUPS = 80, 8
_FUSED = {"phi2", "phi3", "falcon", "gpt_neox", "codeshell", "chatglm", "qwen", "mpt", "bloom"}
_FUSED_VALUE: Final = {"q3_k_m": "q4_k", "q3_k_l": "q4_k", "q4_k_m": "q5_k", "q5_k_m": "q6_k"}
_NORMS = 0.05
"""Of all parameters: more than that are layers, not norms, biases and positions."""


def gguf_bits(
    architecture: Architecture, mixture: str, parts: Parts, *, one_width: bool = False
) -> Bits:
    """Return the bits of a weight of each part in a file that llama.cpp wrote.

    The rules are those of ``llama_tensor_get_type`` in ggml-org/llama.cpp src/llama-quant.cpp,
    as it works without an importance matrix; norms and routers stay 32 bit.

    Args:
        architecture: the model.
        mixture: one of ``GGUF_TYPES``.
        parts: its parameters by what they are.
        one_width: queries, keys and values get rows of the widest type among them.
    """
    shape, (base, rules) = architecture, MIXTURES[mixture]
    hidden, inner, moe = shape.hidden, shape.intermediate, shape.experts

    def by_layer(role: str, columns: int = hidden) -> list[float]:
        return [_layer_bits(shape, mixture, role, layer, columns) for layer in range(shape.layers)]

    def table(role: str, default: str) -> float:
        return TYPE_BITS[_that_divides(rules.get(role, the(default))[0][0], hidden)]

    query, key, value = by_layer("query"), by_layer("key"), by_layer("value")
    if one_width:
        query = key = value = [max(three) for three in zip(query, key, value, strict=True)]
    output = by_layer("output", shape.heads * shape.head_dim)
    up, down = _mean(by_layer("up")), _mean(by_layer("down", inner))
    expert_down = _mean(by_layer("down", moe.intermediate)) if moe else down
    norms = parts.other < _NORMS * shape.parameters
    head = table("head", "q8_0" if base == "q8_0" or hidden % BLOCK else "q6_k")
    return Bits(
        embedding=head if shape.tied_embeddings else table("embedding", base),
        head=head,
        queries=(_mean(query) + _mean(output)) / 2,
        keys_values=(_mean(key) + _mean(value)) / 2,
        latent=_mean(key),
        router=_F32,
        feed_forward=(up + down) / 2 if parts.plain else (2 * up + down) / 3,
        experts=(2 * up + expert_down) / 3,
        other=_F32 if norms else TYPE_BITS[_that_divides(base, hidden)],
    )


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _layer_bits(shape: Architecture, mixture: str, role: str, layer: int, columns: int) -> float:
    """Return the bits of a tensor in one layer: the first rule that holds there counts."""
    base, _ = MIXTURES[mixture]
    rules = _rules_of(shape, mixture, role)
    found = next((name for name, when in rules if when(layer, shape.layers)), base)
    return TYPE_BITS[_that_divides(found, columns)]


def _rules_of(shape: Architecture, mixture: str, role: str) -> Rules:
    """Return the rules of a tensor's role in this model."""
    base, rules = MIXTURES[mixture]
    eight = shape.experts is not None and shape.experts.count == _EIGHT_EXPERTS
    quantised = base not in {"f32", "f16", "bf16", "q8_0"}
    if eight and quantised and role in {"key", "value"}:
        return the("q8_0")
    if eight and role == "output" and base in {"q2_k", "q3_k", "q4_k", "iq3_s", "iq4_xs", "iq4_nl"}:
        return the("q5_k")
    if shape.family in _FUSED and role in {"query", "key", "value"}:
        return the(_FUSED_VALUE.get(mixture, base))
    if role != "value":
        return rules.get(role, ())
    groups = shape.heads // shape.kv_heads
    found = rules.get("value", ())
    if groups >= _GROUPED:
        found = rules.get("grouped_value", found)
    if shape.layers == _SEVENTY_B_LAYERS and groups == _SEVENTY_B_GROUPS:
        rest = "q5_k" if base in {"q3_k", "q4_k"} else base
        found = (
            *((("q5_k", when) if name == "q4_k" else (name, when)) for name, when in found),
            (rest, always),
        )
    return found


def _that_divides(name: str, columns: int) -> str:
    """Return the type for rows of so many values."""
    if name not in FALLBACK or columns % BLOCK == 0:
        return name
    return FALLBACK[name]
