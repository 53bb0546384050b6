"""Shape and number format of a model from its config.json, in the dialects of all families."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from pydantic import ValidationError

from inference_app.problems import shown
from warmfleet.catalog.architecture import Architecture
from warmfleet.resolve.config_fields import Fields
from warmfleet.resolve.config_shape import shape_of
from warmfleet.resolve.context_length import context_length
from warmfleet.resolve.families import family_of
from warmfleet.resolve.mixers import mixer_parameters
from warmfleet.resolve.other_parameters import other_parameters
from warmfleet.resolve.parameters import Shape, active_parameters, total_parameters
from warmfleet.resolve.quantization import WeightsPrecision, precision_of

__all__ = ["HubConfig", "TensorCounts", "parse_config"]

# Where a config of several models keeps that of the text model.
_TEXT: Final = ("thinker_config", "text_config", "llm_config", "language_config")


class TensorCounts(Struct, frozen=True):
    """Parameters counted in the headers of safetensors files."""

    text: int
    routed_experts: int
    other: int
    """Of vision and audio."""


Count = Callable[[int, bool], TensorCounts | None]


class HubConfig(Struct, frozen=True):
    """What a config.json says."""

    architecture: Architecture
    precision: WeightsPrecision | None
    """None: it does not say."""


def parse_config(config: object, count: Count | None = None) -> HubConfig:
    """Return shape and number format.

    Args:
        config: The decoded config.json.
        count: Counts what is in the weights' files, given the number of layers and whether the
            embeddings are tied; without it, and where it returns None, parameters are computed
            from the shape.

    Raises:
        ValueError: one line, ``FIELD: found X; needed Y``.
    """
    if not isinstance(config, Mapping):
        msg = f"found {shown(config)}; needed the fields of a model's config.json"
        raise ValueError(msg)
    text = _text(config)
    model_type = str(text.get("model_type") or config.get("model_type") or "")
    family = family_of(model_type, nested=text is not config)
    fields = Fields(text, family.defaults)
    _must_be_readable(fields, model_type)
    shape, layers = shape_of(fields, family, model_type, config)
    counts = count(shape.layers, shape.tied_embeddings) if count else None
    if counts is not None:
        total, active, other = counts.text, _used(counts, shape), counts.other
    else:
        if layers.mixers:
            each = mixer_parameters(fields, model_type, shape.hidden)
            shape = replace(shape, mixer_parameters=layers.mixers * each)
        total, active = total_parameters(shape), active_parameters(shape)
        other = other_parameters(config)
    try:
        architecture = Architecture(
            family=model_type,
            parameters=total,
            active_parameters=active,
            other_parameters=other,
            layers=shape.layers,
            hidden=shape.hidden,
            heads=shape.heads,
            kv_heads=shape.kv_heads,
            head_dim=shape.head_dim,
            intermediate=shape.intermediate,
            vocabulary=shape.vocabulary,
            tied_embeddings=shape.tied_embeddings,
            max_context=context_length(fields, family, model_type),
            full_attention_layers=0 if family.encoder else layers.full,
            sliding_window=None if family.encoder else layers.window,
            windowed_layers=0 if family.encoder else layers.windowed,
            latent=shape.latent,
            experts=shape.experts,
        )
    except ValidationError as error:
        msg = f"config.json: {error.errors()[0]['msg'].removeprefix('Value error, ')}"
        raise ValueError(msg) from error
    return HubConfig(architecture, precision_of(config, fields))


def _text(config: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in _TEXT:
        part = config.get(name)
        if isinstance(part, Mapping) and part:
            return _text(part)
    return config


def _must_be_readable(fields: Fields, model_type: str) -> None:
    if not model_type:
        msg = "model_type: missing; needed the family of the model, for example llama"
        raise ValueError(msg)
    if fields.get("is_encoder_decoder") is True:
        msg = "is_encoder_decoder: found true; needed a decoder or an encoder alone"
        raise ValueError(msg)
    for name in ("block_configs", "global_head_dim", "swa_num_key_value_heads", "compress_ratios"):
        if fields.get(name) is not None:
            msg = f"{name}: found layers of different shapes; needed layers alike"
            raise ValueError(msg)


def _used(counts: TensorCounts, shape: Shape) -> int:
    if shape.experts is None:
        return counts.text
    idle = shape.experts.count - shape.experts.per_token
    return counts.text - counts.routed_experts * idle // shape.experts.count
