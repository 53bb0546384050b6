"""Parameters of layers that mix tokens without a cache of keys and values.

Counted are the projections; convolutions, gates of one value a head and norms are below 0.3 %.
"""

from warmfleet.resolve.config_fields import Fields

__all__ = ["mixer_parameters"]


def mixer_parameters(fields: Fields, model_type: str, hidden: int) -> int:
    """Return the parameters of one such layer.

    The shapes are those of modeling_*.py of transformers 5.24.0; each is told by its own fields.

    Raises:
        ValueError: the fields are those of no known kind.
    """
    for has, count in (
        ("linear_num_value_heads", _gated_delta),
        ("linear_attn_config", _kimi_delta),
        ("mamba_d_ssm", _mamba2),
        ("mamba_n_heads", _mamba2),
        ("mamba_num_heads", _mamba2),
        ("n_mamba_heads", _mamba2),
        ("mamba_d_state", _mamba),
        ("lru_width", _recurrent),
        ("attn_type_list", _lightning),
        ("conv_L_cache", _short_convolution),
    ):
        if fields.get(has) is not None:
            return count(fields, hidden)
    if model_type == "minimax":
        return _lightning(fields, hidden)
    msg = (
        f"model_type: found {model_type!r}, whose layers without attention have no known size; "
        "needed safetensors, whose headers count them, or the catalog"
    )
    raise ValueError(msg)


def _gated_delta(fields: Fields, hidden: int) -> int:
    keys = fields.needed("linear_num_key_heads") * fields.needed("linear_key_head_dim")
    heads = fields.needed("linear_num_value_heads")
    values = heads * fields.needed("linear_value_head_dim")
    return hidden * (2 * keys + 2 * values + 2 * heads) + values * hidden


def _kimi_delta(fields: Fields, hidden: int) -> int:
    part = fields.part("linear_attn_config")
    heads, width = part.needed("num_heads"), part.needed("head_dim")
    wide = heads * width
    low_rank = 2 * (hidden * width + width * wide)  # of the decay and of the output gate
    return 4 * hidden * wide + low_rank + hidden * heads


def _mamba2(fields: Fields, hidden: int) -> int:
    heads = _first(fields, "mamba_n_heads", "mamba_num_heads", "n_mamba_heads")
    if heads is None:
        heads = fields.needed("mamba_num_heads")
    width = fields.number("mamba_d_ssm")
    if width is None:
        each = _first(fields, "mamba_d_head", "mamba_head_dim", "mamba_headdim")
        width = heads * each if each else (_first(fields, "mamba_expand", "expand") or 2) * hidden
    groups = _first(fields, "mamba_n_groups", "n_groups", "mamba_ngroups") or 1
    state = _first(fields, "mamba_d_state", "ssm_state_size") or 128
    return hidden * (2 * width + 2 * groups * state + heads) + width * hidden


def _mamba(fields: Fields, hidden: int) -> int:
    width = (_first(fields, "mamba_expand", "expand") or 2) * hidden
    state = fields.number("mamba_d_state") or 16
    stated = fields.get("mamba_dt_rank")  # a number, or auto
    rank = stated if isinstance(stated, int) else -(-hidden // 16)
    return 3 * hidden * width + width * (2 * rank + 3 * state)


def _recurrent(fields: Fields, hidden: int) -> int:
    width = fields.needed("lru_width")
    return 3 * hidden * width + 2 * width * width // fields.needed("num_attention_heads")


def _lightning(fields: Fields, hidden: int) -> int:
    heads = fields.needed("num_attention_heads")
    return 5 * hidden * heads * (fields.number("head_dim") or hidden // heads)


def _short_convolution(_: Fields, hidden: int) -> int:
    return 4 * hidden * hidden


def _first(fields: Fields, *names: str) -> int | None:
    """Return the number of the first field that is there and is one: some say ``auto``."""
    for name in names:
        if isinstance(fields.get(name), int):
            return fields.number(name)
    return None
