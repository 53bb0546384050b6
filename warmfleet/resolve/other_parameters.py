"""Parameters of the vision and audio towers beside a text model, from config.json."""

from collections.abc import Mapping
from typing import Any, Final

from warmfleet.resolve.config_fields import Fields

__all__ = ["other_parameters"]

_TOWERS: Final = ("vision_config", "audio_config")


def other_parameters(config: Mapping[str, Any]) -> int:
    """Estimate them: attention (4 w^2) and two feed-forward matrices in each layer.

    Embeddings, projector and a gate are left out (SigLIP of Gemma 3: 411 of 417 million). The
    headers of safetensors files tell it exactly, where they can be read.
    """
    inner = config.get("thinker_config")
    if isinstance(inner, Mapping):
        return other_parameters(inner)
    return sum(_tower(Fields(config[name])) for name in _TOWERS if _is_tower(config.get(name)))


def _is_tower(found: object) -> bool:
    return isinstance(found, Mapping) and bool(found)


def _tower(fields: Fields) -> int:
    # Qwen2-VL: hidden_size is that of the text model, embed_dim that of the tower.
    width = _first(fields, "embed_dim", "hidden_size", "d_model", "width")
    layers = _first(fields, "depth", "num_hidden_layers", "encoder_layers", "layers")
    if not width or not layers:
        return 0
    ratio = fields.get("mlp_ratio")
    inner = _first(fields, "intermediate_size", "encoder_ffn_dim") or int(
        width * (ratio if isinstance(ratio, int | float) else 4)
    )
    return layers * (4 * width * width + 2 * width * inner)


def _first(fields: Fields, *names: str) -> int | None:
    for name in names:
        found = fields.get(name)
        if isinstance(found, int) and 0 < found < 10**6:
            return found
    return None
