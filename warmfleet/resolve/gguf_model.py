"""Shape and number format of a model from the heads of its GGUF files."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Final

from msgspec import Struct
from pydantic import ValidationError

from inference_app.gguf import GgufHead, GgufTensor
from inference_app.problems import shown
from warmfleet.catalog.architecture import Architecture, Experts, LatentAttention
from warmfleet.resolve.gguf_keys import GgufKeys
from warmfleet.resolve.gguf_layers import gguf_layers
from warmfleet.resolve.layer_kinds import MOST_LAYERS

__all__ = ["GgufModel", "parse_gguf"]

# Ids of warmfleet.sizing.precision; 16 bit are f16, whichever they are.
# general.file_type: llama_ftype of ggml-org/llama.cpp include/llama.h.
_FILE_TYPES: Final = {
    0: "fp32", 1: "f16", 2: "q4_0", 3: "q4_1", 7: "q8_0", 8: "q5_0", 9: "q5_1", 10: "q2_k",
    11: "q3_k_s", 12: "q3_k_m", 13: "q3_k_l", 14: "q4_k_s", 15: "q4_k_m", 16: "q5_k_s",
    17: "q5_k_m", 18: "q6_k", 19: "iq2_xxs", 20: "iq2_xs", 21: "q2_k_s", 22: "iq3_xs",
    23: "iq3_xxs", 24: "iq1_s", 25: "iq4_nl", 26: "iq3_s", 27: "iq3_m", 28: "iq2_s", 29: "iq2_m",
    30: "iq4_xs", 31: "iq1_m", 32: "f16", 38: "mxfp4",
}  # fmt: skip
# ggml's types of tensors, for files that do not say (ggml.h, ggml_type).
_TENSOR_TYPES: Final = {
    0: "fp32", 1: "f16", 2: "q4_0", 3: "q4_1", 6: "q5_0", 7: "q5_1", 8: "q8_0", 10: "q2_k",
    11: "q3_k_m", 12: "q4_k_m", 13: "q5_k_m", 14: "q6_k", 16: "iq2_xxs", 17: "iq2_xs",
    18: "iq3_xxs", 19: "iq1_s", 20: "iq4_nl", 21: "iq3_s", 22: "iq2_s", 23: "iq4_xs",
    29: "iq1_m", 30: "f16", 39: "mxfp4",
}  # fmt: skip
_BLOCK: Final = re.compile(r"blk\.(\d+)\.")


class GgufModel(Struct, frozen=True):
    """What the heads say."""

    name: str | None
    architecture: Architecture
    precision: str
    tensor_bytes: int


def parse_gguf(heads: Sequence[GgufHead]) -> GgufModel:
    """Return shape and number format; ``heads`` are those of all parts of a split model.

    Raises:
        ValueError: one line, ``KEY: found X; needed Y``.
    """
    values = heads[0].values
    family = str(values.get("general.architecture") or "")
    if not family or family == "clip":
        found = "an mmproj file, which goes beside a model" if family else "no value"
        msg = f"general.architecture: found {found}; needed that of a language model"
        raise ValueError(msg)
    keys = GgufKeys(family, values)
    blocks = keys.needed("block_count", most=MOST_LAYERS)
    layers = blocks - (keys.number("nextn_predict_layers", least=0) or 0)
    # Layers beyond the last guess tokens ahead; engines load them only when asked to.
    tensors = [
        tensor for tensor in chain.from_iterable(head.tensors for head in heads)
        if (block := _BLOCK.match(tensor.name)) is None or int(block[1]) < layers
    ]  # fmt: skip
    try:
        architecture = _architecture(keys, layers, tensors)
    except ValidationError as error:
        msg = f"{family}: {error.errors()[0]['msg'].removeprefix('Value error, ')}"
        raise ValueError(msg) from error
    name = values.get("general.name")
    return GgufModel(
        name=name if isinstance(name, str) and name else None,
        architecture=architecture,
        precision=_precision(values.get("general.file_type"), tensors),
        tensor_bytes=sum(tensor.size_bytes for tensor in tensors),
    )


def _architecture(keys: GgufKeys, layers: int, tensors: Sequence[GgufTensor]) -> Architecture:
    hidden, heads = keys.needed("embedding_length"), keys.alike("attention.head_count", layers)
    if heads is None:
        msg = f"{keys.family}.attention.head_count: missing; needed a whole number above zero"
        raise ValueError(msg)
    kinds = gguf_layers(keys, layers)
    latent = _latent(keys)
    total = sum(tensor.elements for tensor in tensors)
    experts = _experts(keys, layers, tensors)
    idle = 0
    if experts is not None:
        routed = sum(tensor.elements for tensor in tensors if "_exps." in tensor.name)
        idle = routed * (experts.count - experts.per_token) // experts.count
    head_dim = keys.number("attention.key_length_mla") or keys.number("attention.key_length")
    dense = keys.alike("feed_forward_length", layers)
    return Architecture(
        family=keys.family,
        parameters=total,
        active_parameters=total - idle,
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=heads if latent else keys.alike("attention.head_count_kv", layers) or heads,
        head_dim=head_dim or hidden // heads,
        intermediate=dense or (experts.intermediate if experts else 4 * hidden),
        vocabulary=_vocabulary(keys, hidden, tensors),
        tied_embeddings=all(tensor.name != "output.weight" for tensor in tensors),
        max_context=keys.needed("context_length"),
        full_attention_layers=kinds.full,
        windowed_layers=kinds.windowed,
        sliding_window=kinds.window,
        latent=latent,
        experts=experts,
    )


def _latent(keys: GgufKeys) -> LatentAttention | None:
    """Return latent attention; without the widths of its heads llama.cpp expands the cache."""
    rank, width = keys.number("attention.kv_lora_rank"), keys.number("attention.key_length_mla")
    if rank is None or width is None:
        return None
    rope = keys.needed("rope.dimension_count")
    return LatentAttention(
        kv_rank=rank,
        rope_dim=rope,
        nope_dim=max(width - rope, 1),
        value_dim=keys.number("attention.value_length_mla"),
        query_rank=keys.number("attention.q_lora_rank", least=0) or None,
    )


def _experts(keys: GgufKeys, layers: int, tensors: Sequence[GgufTensor]) -> Experts | None:
    count = keys.number("expert_count", least=0)
    # Each layer with experts has a router.
    routers = sum(tensor.name.endswith(".ffn_gate_inp.weight") for tensor in tensors)
    if not count or not routers:
        return None
    width = keys.number("expert_feed_forward_length") or keys.alike("feed_forward_length", layers)
    if width is None:
        msg = f"{keys.family}.expert_feed_forward_length: missing; needed the width of an expert"
        raise ValueError(msg)
    shared = keys.number("expert_shared_feed_forward_length", least=0)
    if shared is None:
        shared = (keys.number("expert_shared_count", least=0) or 0) * width
    return Experts(
        count=count,
        per_token=keys.needed("expert_used_count"),
        intermediate=width,
        shared_intermediate=shared,
        layers=routers,
    )


def _vocabulary(keys: GgufKeys, hidden: int, tensors: Sequence[GgufTensor]) -> int:
    for tensor in tensors:
        if tensor.name == "token_embd.weight":
            return tensor.elements // hidden
    return keys.needed("vocab_size")


def _precision(stated: object, tensors: Sequence[GgufTensor]) -> str:
    if isinstance(stated, int) and stated in _FILE_TYPES:
        return _FILE_TYPES[stated]
    sizes: Counter[int] = Counter()
    for tensor in tensors:
        sizes[tensor.kind] += tensor.elements
    kind, _ = sizes.most_common(1)[0]
    if kind not in _TENSOR_TYPES:
        msg = f"general.file_type: found {shown(stated)} and tensors of type {kind}; needed a known"
        raise ValueError(f"{msg} type of llama.cpp")
    return _TENSOR_TYPES[kind]
