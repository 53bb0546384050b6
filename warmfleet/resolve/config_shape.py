"""Sizes of a text model from the fields of its config.json."""

from collections.abc import Mapping
from typing import Any

from warmfleet.catalog.architecture import LatentAttention
from warmfleet.resolve.config_experts import experts_of
from warmfleet.resolve.config_fields import Fields
from warmfleet.resolve.families import Family
from warmfleet.resolve.layer_kinds import MOST_LAYERS, Layers, layers_of
from warmfleet.resolve.parameters import Shape

__all__ = ["shape_of"]


def shape_of(
    fields: Fields, family: Family, model_type: str, config: Mapping[str, Any]
) -> tuple[Shape, Layers]:
    """Return the sizes that parameters follow from, and the kinds of layers.

    Args:
        fields: Of the text model.
        family: Of its ``model_type``.
        model_type: As the config says it.
        config: The whole config, which may say more of the text model.

    Raises:
        ValueError: a field is missing or contradicts another one; it is named.
    """
    count = fields.needed("num_hidden_layers", most=MOST_LAYERS)
    hidden = fields.needed("hidden_size")
    heads = fields.needed("num_attention_heads")
    latent = _latent(fields)
    layers = layers_of(fields, family, model_type, count)
    intermediate = _intermediate(fields, family, model_type, hidden)
    experts = experts_of(fields, model_type, layers=count)
    if intermediate is None:
        intermediate = experts.intermediate if experts else fields.needed("intermediate_size")
    vocabulary = fields.number("padded_vocab_size") or fields.needed("vocab_size")
    own_width = latent and (latent.nope_dim or 0) + latent.rope_dim
    shape = Shape(
        layers=count,
        hidden=hidden,
        heads=heads,
        kv_heads=heads if latent else _kv_heads(fields, heads),
        head_dim=own_width or _head_dim(fields, hidden, heads),
        intermediate=intermediate,
        vocabulary=vocabulary,
        tied_embeddings=_tied(fields, family, config),
        latent=latent,
        experts=experts,
        matrices=family.feed_forward_matrices,
        attention_layers=layers.attention,
        feed_forward_layers=layers.feed_forward,
        gated_queries=model_type.startswith(("qwen3_next", "qwen3_5")),
        positions=fields.number("max_position_embeddings") or fields.number("n_positions") or 0
        if family.learned_positions
        else 0,
        layer_embeddings=_layer_embeddings(fields, count),
    )
    return shape, layers


def _latent(fields: Fields) -> LatentAttention | None:
    rank = fields.number("kv_lora_rank", least=0)
    if not rank:
        return None
    return LatentAttention(
        kv_rank=rank,
        rope_dim=fields.needed("qk_rope_head_dim"),
        nope_dim=fields.needed("qk_nope_head_dim"),
        value_dim=fields.needed("v_head_dim"),
        query_rank=fields.number("q_lora_rank", least=0) or None,
    )


def _kv_heads(fields: Fields, heads: int) -> int:
    # ChatGLM names the number apart; elsewhere it is one.
    multi_query = fields.flag("multi_query_attention") or fields.flag("multi_query")
    grouped = fields.number("multi_query_group_num")
    if multi_query and grouped:
        found, name = grouped, "multi_query_group_num"
    elif multi_query and not fields.flag("new_decoder_architecture"):
        return 1
    else:
        found = fields.number("num_key_value_heads") or heads
        name = fields.written("num_key_value_heads")
    if heads % found:
        msg = f"{name}: found {found}; needed a divisor of the attention heads, {heads}"
        raise ValueError(msg)
    return found


def _head_dim(fields: Fields, hidden: int, heads: int) -> int:
    stated = fields.number("head_dim") or fields.number("attention_head_dim")
    if stated is None and hidden % heads:
        msg = (
            f"head_dim: missing, and hidden_size {hidden} is no multiple of the attention heads, "
            f"{heads}; needed one of the two"
        )
        raise ValueError(msg)
    return stated or hidden // heads


def _intermediate(fields: Fields, family: Family, model_type: str, hidden: int) -> int | None:
    """Return the width of a dense block; None where only experts have one."""
    if model_type == "llama4_text":
        return fields.number("intermediate_size_mlp")
    stated = fields.number("intermediate_size") or fields.number("block_ff_dim")
    if stated is None:
        if fields.get("ffn_config") is not None:
            return None
        ratio = fields.number("expansion_ratio") or 4
        return ratio * hidden if family.wide_by_default else None
    if model_type == "qwen":
        return stated // 2  # the first Qwen counts gate and up together
    if model_type == "lfm2" and fields.get("block_auto_adjust_ff_dim") is not False:
        step = fields.number("block_multiple_of") or 256
        return -(-int(2 * stated / 3) // step) * step
    return stated


def _tied(fields: Fields, family: Family, config: Mapping[str, Any]) -> bool:
    said = fields.flag("tie_word_embeddings")
    if said is None:
        said = Fields(config).flag("tie_word_embeddings")
    return family.tied_embeddings if said is None else said


def _layer_embeddings(fields: Fields, layers: int) -> int:
    """Return those of Gemma 3n, which gives each layer a vector of its own for a token."""
    width = fields.number("hidden_size_per_layer_input", least=0) or 0
    rows = fields.number("vocab_size_per_layer_input") or fields.number("vocab_size") or 0
    return layers * width * rows
