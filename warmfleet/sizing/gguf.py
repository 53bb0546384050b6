"""Which type llama.cpp gives each tensor when it writes a mixture such as Q4_K_M."""

from collections.abc import Callable, Mapping
from typing import Final

from warmfleet.catalog.architecture import Architecture
from warmfleet.sizing.bits import Bits

__all__ = ["GGUF_TYPES", "gguf_bits"]

_F32 = 32.0
_TYPE_BITS: Final = {
    "f32": 32.0,
    "f16": 16.0,
    "bf16": 16.0,
    "q8_0": 8.5,
    "q6_k": 6.5625,
    "q5_k": 5.5,
    "q5_1": 6.0,
    "q5_0": 5.5,
    "q4_k": 4.5,
    "q4_1": 5.0,
    "q4_0": 4.5,
    "q3_k": 3.4375,
    "q2_k": 2.625,
    "iq4_nl": 4.5,
    "iq4_xs": 4.25,
    "iq3_s": 3.4375,
    "iq3_xxs": 3.0625,
    "iq2_s": 2.5625,
    "iq2_xs": 2.3125,
    "iq2_xxs": 2.0625,
    "iq1_m": 1.75,
    "iq1_s": 1.5625,
}
"""Bits a weight with its block's scales: ggml-org/llama.cpp ggml/src/ggml-common.h."""

_FALLBACK: Final = {
    "q4_k": "q5_0",
    "q5_k": "q5_1",
    "q6_k": "q8_0",
    "q3_k": "q4_0",
    "q2_k": "q4_0",
} | {name: "iq4_nl" for name in _TYPE_BITS if name.startswith("iq") and name != "iq4_nl"}
"""For rows that blocks of 256 values do not divide."""
_BLOCK = 256

_When = Callable[[int, int], bool]


def _more(layer: int, layers: int) -> bool:
    eighth = layers // 8
    return layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2


def _first(count: int) -> _When:
    return lambda layer, _layers: layer < count


def _share(parts: int) -> _When:
    return lambda layer, layers: layer < layers // parts


def _middle(layer: int, layers: int) -> bool:
    return layers // 8 <= layer < 7 * layers // 8


def _always(_layer: int, _layers: int) -> bool:
    return True


_Rules = tuple[tuple[str, _When], ...]


def _all(name: str) -> _Rules:
    return ((name, _always),)


_LOW = {"down": (("q2_k", _share(8)),), "embedding": _all("q2_k"), "head": _all("q5_k")}
_LOW_2 = {
    "down": (("iq3_s", _share(8)),),
    "output": _all("iq3_s"),
    "embedding": _all("iq3_s"),
    "head": _all("q5_k"),
}
_IQ4 = {"down": (("q5_k", _share(8)),), "grouped_value": _all("q5_k")}
_MIXTURES: Final[Mapping[str, tuple[str, Mapping[str, _Rules]]]] = {
    "q6_k": ("q6_k", {}),
    "q5_k_m": ("q5_k", {"value": (("q6_k", _more),), "down": (("q6_k", _more),)}),
    "q5_k_s": ("q5_k", {}),
    "q4_k_m": ("q4_k", {"value": (("q6_k", _more),), "down": (("q6_k", _more),)}),
    "q4_k_s": ("q4_k", {"value": (("q5_k", _first(4)),), "down": (("q5_k", _share(8)),)}),
    "q3_k_l": ("q3_k", {"value": _all("q5_k"), "down": _all("q5_k"), "output": _all("q5_k")}),
    "q3_k_m": (
        "q3_k",
        {
            "value": (("q5_k", _first(2)), ("q4_k", _always)),
            "down": (("q5_k", _share(16)), ("q4_k", _always)),
            "output": _all("q4_k"),
        },
    ),
    "q3_k_s": ("q3_k", {}),
    "q2_k": (
        "q2_k",
        {
            "value": _all("q3_k"),
            "grouped_value": _all("q4_k"),
            "down": _all("q3_k"),
            "output": _all("q3_k"),
        },
    ),
    "q2_k_s": ("q2_k", {"grouped_value": _all("q4_k"), "down": (("q4_k", _share(8)),)}),
    "iq4_xs": ("iq4_xs", _IQ4),
    "iq4_nl": ("iq4_nl", _IQ4),
    "iq3_m": (
        "iq3_s",
        {"value": _all("q4_k"), "down": (("q4_k", _share(8)),), "output": _all("q4_k")},
    ),
    "iq3_s": ("iq3_s", {"grouped_value": _all("q4_k")}),
    "iq3_xs": (
        "iq3_s",
        {
            "query": _all("iq3_xxs"),
            "key": _all("iq3_xxs"),
            "grouped_value": _all("q4_k"),
            "up": (("iq3_xxs", _middle),),
        },
    ),
    "iq3_xxs": (
        "iq3_xxs",
        {
            "query": _all("iq2_s"),
            "key": _all("iq2_s"),
            "grouped_value": _all("q4_k"),
            "output": _all("iq3_s"),
            "embedding": _all("iq3_s"),
            "head": _all("q5_k"),
        },
    ),
    "iq2_m": ("iq2_s", _LOW_2 | {"value": _all("iq3_s"), "grouped_value": _all("q4_k")}),
    "iq2_s": ("iq2_xs", _LOW_2 | {"value": _all("iq3_s"), "grouped_value": _all("q4_k")}),
    "iq2_xs": ("iq2_xs", _LOW | {"value": _all("q2_k"), "grouped_value": _all("q4_k")}),
    "iq2_xxs": ("iq2_xxs", _LOW | {"value": _all("q2_k"), "grouped_value": _all("q4_k")}),
    "iq1_m": (
        "iq1_m",
        _LOW | {"value": _all("q2_k"), "grouped_value": _all("q4_k"), "output": _all("iq2_xxs")},
    ),
    "iq1_s": (
        "iq1_s",
        _LOW | {"value": _all("q2_k"), "grouped_value": _all("q4_k"), "output": _all("iq2_xxs")},
    ),
    **{name: (name, {}) for name in ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0")},
    **{name: (name, {"head": _all(name)}) for name in ("f32", "f16", "bf16")},
}
GGUF_TYPES: Final = {name: _TYPE_BITS[base] for name, (base, _) in _MIXTURES.items()}
"""Mixtures by their names, in small letters, with the bits of the type that most tensors have."""

_GROUPED = 4
_EIGHT_EXPERTS = 8
_SEVENTY_B_LAYERS, _SEVENTY_B_GROUPS = 80, 8
_FUSED = {"phi2", "phi3", "falcon", "gpt_neox", "codeshell", "chatglm", "qwen", "mpt", "bloom"}
_FUSED_VALUE: Final = {"q3_k_m": "q4_k", "q3_k_l": "q4_k", "q4_k_m": "q5_k", "q5_k_m": "q6_k"}
_PLAIN_MATRICES, _GATED_MATRICES = 2, 3


def gguf_bits(architecture: Architecture, mixture: str, *, feed_forward: int) -> Bits:
    """Return the bits of a weight of each part in a file that llama.cpp wrote.

    The rules are those of ``llama_tensor_get_type`` in ggml-org/llama.cpp src/llama-quant.cpp,
    as it works without an importance matrix; norms and routers stay 32 bit.

    Args:
        architecture: the model.
        mixture: one of ``GGUF_TYPES``.
        feed_forward: parameters of dense feed-forward blocks; they tell gated from plain ones.
    """
    shape = architecture
    base, rules = _MIXTURES[mixture]

    def average(role: str, columns: int) -> float:
        total = 0.0
        for layer in range(shape.layers):
            name = next(
                (
                    name
                    for name, when in _rules_of(shape, mixture, role)
                    if when(layer, shape.layers)
                ),
                base,
            )
            total += _TYPE_BITS[_that_divides(name, columns)]
        return total / shape.layers

    def table(role: str, default: str) -> float:
        name = rules.get(role, _all(default))[0][0]
        return _TYPE_BITS[_that_divides(name, shape.hidden)]

    head = table("head", "q8_0" if base == "q8_0" or shape.hidden % _BLOCK else "q6_k")
    hidden, inner = shape.hidden, shape.intermediate
    up, down = average("up", hidden), average("down", inner)
    gated = feed_forward > (_PLAIN_MATRICES + 0.5) * shape.layers * hidden * inner
    moe = shape.experts
    expert_down = average("down", moe.intermediate) if moe else down
    return Bits(
        embedding=head if shape.tied_embeddings else table("embedding", base),
        head=head,
        queries=(average("query", hidden) + average("output", shape.heads * shape.head_dim)) / 2,
        keys_values=(average("key", hidden) + average("value", hidden)) / 2,
        latent=average("key", hidden),
        router=_F32,
        feed_forward=(2 * up + down) / _GATED_MATRICES
        if gated or moe
        else (up + down) / _PLAIN_MATRICES,
        experts=(2 * up + expert_down) / _GATED_MATRICES,
    )


def _rules_of(shape: Architecture, mixture: str, role: str) -> _Rules:
    """Return the rules of a tensor's role; the first one that holds for a layer counts."""
    base, rules = _MIXTURES[mixture]
    eight = shape.experts is not None and shape.experts.count == _EIGHT_EXPERTS
    quantised = base not in {"f32", "f16", "bf16", "q8_0"}
    if eight and quantised and role in {"key", "value"}:
        return _all("q8_0")
    if eight and role == "output" and base in {"q2_k", "q3_k", "q4_k", "iq3_s", "iq4_xs", "iq4_nl"}:
        return _all("q5_k")
    if shape.family in _FUSED and role in {"query", "key", "value"}:
        return _all(_FUSED_VALUE.get(mixture, base))
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
            (rest, _always),
        )
    return found


def _that_divides(name: str, columns: int) -> str:
    """Return the type for rows of so many values."""
    if name not in _FALLBACK or columns % _BLOCK == 0:
        return name
    return _FALLBACK[name]
