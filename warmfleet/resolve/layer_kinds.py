"""Which layers of a model keep a cache of keys and values, and how much of it."""

from collections import Counter
from collections.abc import Sequence
from itertools import cycle, islice
from typing import Final, Literal

from msgspec import Struct

from inference_app.problems import shown
from warmfleet.resolve.config_fields import Fields
from warmfleet.resolve.families import Family

__all__ = ["MOST_LAYERS", "LayerKind", "Layers", "layers_of"]

MOST_LAYERS: Final = 10_000
"""There is a list of them: more would be a mistake, or an attack."""

LayerKind = Literal["full", "window", "none"]

# Words of layer_types, layers_block_type, block_types, attn_type_list and the letters of patterns.
_KINDS: Final[dict[str, LayerKind]] = {
    "full_attention": "full",
    "attention": "full",
    "global": "full",
    "hybrid": "full",
    "sliding_attention": "window",
    "chunked_attention": "window",
    "local": "window",
    "linear_attention": "none",
    "mamba": "none",
    "mamba2": "none",
    "conv": "none",
    "recurrent": "none",
    "mlp": "none",
    "moe": "none",
    "G": "full",
    "L": "window",
    "*": "full",
    "M": "none",
    "-": "none",
    "E": "none",
    "1": "full",
    "0": "none",
}

_WINDOWS: Final = ("sliding_window", "sliding_window_size", "attention_window_size")


class Layers(Struct, frozen=True):
    """Numbers of layers by what they keep; the rest of all keep nothing."""

    full: int
    windowed: int
    window: int | None
    attention: int
    """Layers with attention, also those that read the cache of another one."""
    mixers: int
    """Layers that mix tokens without a cache: state space, linear attention, convolution."""
    feed_forward: int
    """Layers with a feed-forward block or experts."""


def layers_of(fields: Fields, family: Family, model_type: str, count: int) -> Layers:
    """Count the kinds of ``count`` layers of a family.

    Raises:
        ValueError: the fields contradict each other, or name a kind of layer that is unknown.
    """
    kinds = _kinds(fields, family, model_type, count)
    shared = fields.number("num_kv_shared_layers", least=0) or 0
    # The last ones read the cache of a layer before them.
    found = Counter(kinds[: count - shared] if shared < count else kinds)
    window = _window(fields)
    if found["window"] and window is None:
        msg = f"sliding_window: missing; needed for the {found['window']} layers with a window"
        raise ValueError(msg)
    alone = _alone(fields)
    beside = fields.get("mamba_d_ssm") is not None  # Falcon-H1: both in each layer
    return Layers(
        full=found["full"],
        windowed=found["window"],
        window=window if found["window"] else None,
        attention=count - kinds.count("none"),
        mixers=count if beside else kinds.count("none") - alone,
        feed_forward=alone or count,
    )


def _kinds(fields: Fields, family: Family, model_type: str, count: int) -> list[LayerKind]:
    for name in ("layer_types", "layers_block_type", "attn_type_list", "hybrid_override_pattern"):
        said = fields.get(name)
        if said is not None:
            return _listed(name, said, count)
    if (repeated := fields.items("block_types")) is not None:
        named = islice(cycle(repeated), count)
        # Griffin's attention is local.
        return ["window" if word == "attention" else "none" for word in named]
    if (linear := fields.part("linear_attn_config").items("full_attn_layers")) is not None:
        return _at(count, {index - 1 for index in linear if isinstance(index, int)}, "none")
    for name in ("attn_layer_indices", "full_attn_idxs"):
        if (indices := fields.items(name)) is not None:
            return _at(count, set(indices), "none")
    if (period := fields.number("attn_layer_period")) is not None:
        offset = fields.number("attn_layer_offset", least=0) or 0
        return _at(count, set(range(offset, count, period)), "none")
    if (interval := fields.number("full_attention_interval")) is not None:
        return _at(count, set(range(interval - 1, count, interval)), "none")
    if model_type in {"mamba", "mamba2", "falcon_mamba", "rwkv"}:
        return ["none"] * count
    return _windowed(fields, family, count)


def _windowed(fields: Fields, family: Family, count: int) -> list[LayerKind]:
    if _window(fields) is None:
        return ["full"] * count
    if fields.get("attention_chunk_size") is not None:
        return _chunked(fields, count)
    pattern = fields.get("sliding_window_pattern")
    if isinstance(pattern, str) and pattern:
        kinds = _listed("sliding_window_pattern", list(islice(cycle(pattern), count)), count)
        return [*kinds[:-1], "full"]
    every = fields.number("sliding_window_pattern", least=0)
    if every:
        return _at(count, set(range(every - 1, count, every)), "window")
    first = fields.number("max_window_layers", least=0)
    if first is not None and fields.flag("use_sliding_window"):
        return _at(count, set(range(min(first, count))), "window")
    return ["window" if family.all_windowed else "full"] * count


def _chunked(fields: Fields, count: int) -> list[LayerKind]:
    """Return those of Llama 4: layers without rotary positions see the whole context."""
    rotary = fields.items("no_rope_layers")
    if rotary:
        return _at(count, {index for index, has in enumerate(rotary) if not has}, "window")
    every = fields.number("no_rope_layer_interval") or count + 1
    return _at(count, set(range(every - 1, count, every)), "window")


def _window(fields: Fields) -> int | None:
    if fields.flag("use_sliding_window") is False:
        return None
    for name in (*_WINDOWS, "attention_chunk_size"):
        found = fields.number(name, least=-1)
        if found is not None and found > 0:  # 0 and -1 say that there is none
            return found
    return None


def _listed(name: str, said: object, count: int) -> list[LayerKind]:
    if not isinstance(said, str | list):
        msg = f"{name}: found {shown(said)}; needed a list of the kinds of layers"
        raise ValueError(msg)
    words: Sequence[object] = said
    if len(words) != count:
        msg = f"{name}: found {len(words)} entries; needed num_hidden_layers, {count}"
        raise ValueError(msg)
    for word in words:
        if str(word) not in _KINDS:
            msg = f"{name}: found {shown(word)}; needed kinds of layers such as full_attention"
            raise ValueError(msg)
    return [_KINDS[str(word)] for word in words]


def _at(count: int, full: set[int], rest: LayerKind) -> list[LayerKind]:
    return ["full" if index in full else rest for index in range(count)]


def _alone(fields: Fields) -> int:
    """Count layers that are a feed-forward block alone, where such blocks are layers."""
    words = fields.words("hybrid_override_pattern", "layers_block_type", "layer_types")
    return sum(word in {"-", "E", "mlp", "moe"} for word in words)
