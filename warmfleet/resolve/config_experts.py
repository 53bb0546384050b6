"""Mixture of experts in a config.json, in the fields of each family."""

from warmfleet.catalog.architecture import Experts
from warmfleet.resolve.config_fields import Fields

__all__ = ["experts_of"]


def experts_of(fields: Fields, model_type: str, *, layers: int) -> Experts | None:
    """Return the experts; None for a dense model.

    Args:
        fields: Of the text model.
        model_type: As the config says it.
        layers: Number of all layers.

    Raises:
        ValueError: a field is missing, or the fields contradict each other.
    """
    count = fields.number("num_experts", least=0)
    if count is None or count < 2:
        return None
    per_token = fields.needed("num_experts_per_tok")
    if per_token > count:
        msg = (
            f"{fields.written('num_experts_per_tok')}: found {per_token}; needed at most "
            f"{fields.written('num_experts')}, {count}"
        )
        raise ValueError(msg)
    with_experts = _layers(fields, layers)
    if not with_experts:
        return None
    width = fields.number("moe_intermediate_size") or fields.needed("intermediate_size")
    return Experts(
        count=count,
        per_token=per_token,
        intermediate=width,
        shared_intermediate=_shared(fields, model_type, width),
        layers=with_experts,
    )


def _shared(fields: Fields, model_type: str, width: int) -> int:
    if model_type == "llama4_text":
        return width  # one, of the same width, in every such layer
    stated = fields.number("shared_expert_intermediate_size", least=0)
    if stated is not None:
        return stated
    return (fields.number("n_shared_experts", least=0) or 0) * width


def _layers(fields: Fields, layers: int) -> int:
    """Count the layers that have experts."""
    words = fields.words("hybrid_override_pattern", "mlp_layer_types", "layers_block_type")
    if {"E", "moe", "sparse"} & set(words):
        return sum(word in {"E", "moe", "sparse"} for word in words)
    if (listed := fields.items("moe_layers")) is not None:
        return len({index for index in listed if index in range(layers)})
    each = fields.get("moe_layer_freq")
    if isinstance(each, list):
        if len(each) != layers:
            msg = f"moe_layer_freq: found {len(each)} entries; needed num_hidden_layers, {layers}"
            raise ValueError(msg)
        return sum(map(bool, each))
    if (period := fields.number("expert_layer_period")) is not None:
        return len(range(fields.number("expert_layer_offset", least=0) or 0, layers, period))
    if (step := fields.number("interleave_moe_layer_step", least=0)) is not None:
        return len(range(step - 1, layers, step)) if step else 0
    if (step := fields.number("decoder_sparse_step")) is not None:
        dense = set(fields.items("mlp_only_layers") or ())
        return sum((index + 1) % step == 0 and index not in dense for index in range(layers))
    return _after_dense(fields, layers)


def _after_dense(fields: Fields, layers: int) -> int:
    first = fields.number("first_k_dense_replace", least=0) or 0
    last = fields.number("moe_layer_end_index", least=-1)
    step = fields.number("moe_layer_freq") or fields.number("moe_layer_interval") or 1
    if first > layers:
        name = fields.written("first_k_dense_replace")
        msg = f"{name}: found {first}; needed at most num_hidden_layers, {layers}"
        raise ValueError(msg)
    end = layers if last in {None, -1} else min(layers, (last or 0) + 1)
    return sum(index % step == 0 for index in range(first, end))
