"""Mixtures of types that llama.cpp writes, such as Q4_K_M, by the role of a tensor."""

from collections.abc import Callable, Mapping
from typing import Final

__all__ = ["BLOCK", "FALLBACK", "MIXTURES", "TYPE_BITS", "Rules", "always", "the"]

TYPE_BITS: Final = {
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

FALLBACK: Final = {
    "q4_k": "q5_0",
    "q5_k": "q5_1",
    "q6_k": "q8_0",
    "q3_k": "q4_0",
    "q2_k": "q4_0",
} | {name: "iq4_nl" for name in TYPE_BITS if name.startswith("iq") and name != "iq4_nl"}
"""For rows that blocks of 256 values do not divide."""
BLOCK = 256

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


def always(_layer: int, _layers: int) -> bool:
    """Hold for every layer."""
    return True


Rules = tuple[tuple[str, _When], ...]


def the(name: str) -> Rules:
    """Return the rule that every layer has this type."""
    return ((name, always),)


_LOW = {"down": (("q2_k", _share(8)),), "embedding": the("q2_k"), "head": the("q5_k")}
_LOW_2 = {
    "down": (("iq3_s", _share(8)),),
    "output": the("iq3_s"),
    "embedding": the("iq3_s"),
    "head": the("q5_k"),
}
_IQ4 = {"down": (("q5_k", _share(8)),), "grouped_value": the("q5_k")}
MIXTURES: Final[Mapping[str, tuple[str, Mapping[str, Rules]]]] = {
    "q6_k": ("q6_k", {}),
    "q5_k_m": ("q5_k", {"value": (("q6_k", _more),), "down": (("q6_k", _more),)}),
    "q5_k_s": ("q5_k", {}),
    "q4_k_m": ("q4_k", {"value": (("q6_k", _more),), "down": (("q6_k", _more),)}),
    "q4_k_s": ("q4_k", {"value": (("q5_k", _first(4)),), "down": (("q5_k", _share(8)),)}),
    "q3_k_l": ("q3_k", {"value": the("q5_k"), "down": the("q5_k"), "output": the("q5_k")}),
    "q3_k_m": (
        "q3_k",
        {
            "value": (("q5_k", _first(2)), ("q4_k", always)),
            "down": (("q5_k", _share(16)), ("q4_k", always)),
            "output": the("q4_k"),
        },
    ),
    "q3_k_s": ("q3_k", {}),
    "q2_k": (
        "q2_k",
        {
            "value": the("q3_k"),
            "grouped_value": the("q4_k"),
            "down": the("q3_k"),
            "output": the("q3_k"),
        },
    ),
    "q2_k_s": ("q2_k", {"grouped_value": the("q4_k"), "down": (("q4_k", _share(8)),)}),
    "iq4_xs": ("iq4_xs", _IQ4),
    "iq4_nl": ("iq4_nl", _IQ4),
    "iq3_m": (
        "iq3_s",
        {"value": the("q4_k"), "down": (("q4_k", _share(8)),), "output": the("q4_k")},
    ),
    "iq3_s": ("iq3_s", {"grouped_value": the("q4_k")}),
    "iq3_xs": (
        "iq3_s",
        {
            "query": the("iq3_xxs"),
            "key": the("iq3_xxs"),
            "grouped_value": the("q4_k"),
            "up": (("iq3_xxs", _middle),),
        },
    ),
    "iq3_xxs": (
        "iq3_xxs",
        {
            "query": the("iq2_s"),
            "key": the("iq2_s"),
            "grouped_value": the("q4_k"),
            "output": the("iq3_s"),
            "embedding": the("iq3_s"),
            "head": the("q5_k"),
        },
    ),
    "iq2_m": ("iq2_s", _LOW_2 | {"value": the("iq3_s"), "grouped_value": the("q4_k")}),
    "iq2_s": ("iq2_xs", _LOW_2 | {"value": the("iq3_s"), "grouped_value": the("q4_k")}),
    "iq2_xs": ("iq2_xs", _LOW | {"value": the("q2_k"), "grouped_value": the("q4_k")}),
    "iq2_xxs": ("iq2_xxs", _LOW | {"value": the("q2_k"), "grouped_value": the("q4_k")}),
    "iq1_m": (
        "iq1_m",
        _LOW | {"value": the("q2_k"), "grouped_value": the("q4_k"), "output": the("iq2_xxs")},
    ),
    "iq1_s": (
        "iq1_s",
        _LOW | {"value": the("q2_k"), "grouped_value": the("q4_k"), "output": the("iq2_xxs")},
    ),
    **{name: (name, {}) for name in ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0")},
    **{name: (name, {"head": the(name)}) for name in ("f32", "f16", "bf16")},
}
