"""Parameters and bytes of a model, counted in the headers of its safetensors files."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from warmfleet.resolve.hf_config import TensorCounts
from warmfleet.resolve.safetensors import Tensor

__all__ = ["Counted", "count_tensors"]

# One value is one parameter; of the rest several are packed into one, or it is no parameter.
_PLAIN: Final = {"F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2", "I8"}
_IDS: Final = {"BF16": "bf16", "F16": "fp16", "F32": "fp32", "F8_E4M3": "fp8"}

_TOWER: Final = re.compile(
    r"(?:^|\.)(?:vision|visual|audio|speech|image|img|mm_projector|multi_modal|aligner|mlp1|talker|"
    r"token2wav|code2wav|vit|siglip|resampler|patch_merger)[^.]*\."
)
_AHEAD: Final = re.compile(r"(?:^|\.)(?:mtp|nextn)[^.]*\.")
_LAYER: Final = re.compile(r"(?:^|\.)(?:layers|h|blocks|block|layer)\.(\d+)\.")
# Scales, zero points and lookup tables of quantized weights; tables that are no weights.
_BESIDE: Final = re.compile(
    r"(?:scale|scales|scale_inv|zero_point|zeros|qzeros|g_idx|absmax|quant_map|inv_freq|"
    r"masked_bias|position_ids|weight_shape)$|quant_state|(?:^|\.)attn(?:ention)?\.bias$"
)


class Counted(Struct, frozen=True):
    """What the headers tell."""

    counts: TensorCounts | None
    """None for packed weights, where values are no parameters."""
    size_bytes: int
    """Of all tensors that an engine loads."""
    precision: str | None
    """Number format of most of them; None for a format that only the config tells."""
    layers: int
    """Of the text model, by the names of its tensors; 0: they do not tell."""


def count_tensors(tensors: Iterable[Tensor], *, layers: int, tied: bool) -> Counted:
    """Count what an engine loads.

    Layers beyond the last guess tokens ahead, and the output of tied embeddings is in the file a
    second time: engines load neither.

    Args:
        tensors: Of all files.
        layers: Number of layers of the text model.
        tied: Input and output embedding are one tensor.
    """
    text = experts = other = size = found_layers = 0
    sizes: Counter[str] = Counter()
    plain = True
    for tensor in tensors:
        tower = _TOWER.search(tensor.name) is not None
        if not tower and _is_not_loaded(tensor.name, layers, tied):
            continue
        size += tensor.size_bytes
        if _BESIDE.search(tensor.name):
            continue
        if tower:
            other += tensor.elements
            continue
        plain = plain and tensor.dtype in _PLAIN
        sizes[tensor.dtype] += tensor.size_bytes
        text += tensor.elements
        if (layer := _LAYER.search(tensor.name)) is not None:
            found_layers = max(found_layers, int(layer[1]) + 1)
        if ".experts." in tensor.name:
            experts += tensor.elements
    counts = TensorCounts(text, experts, other) if plain and text else None
    most = sizes.most_common(1)
    return Counted(counts, size, _IDS.get(most[0][0]) if most else None, found_layers)


def _is_not_loaded(name: str, layers: int, tied: bool) -> bool:
    beyond = _LAYER.search(name)
    if _AHEAD.search(name) or (beyond is not None and int(beyond[1]) >= layers):
        return True
    return tied and name.endswith("lm_head.weight")
