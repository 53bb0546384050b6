"""Tokens that a model was trained for, from its config.json."""

from collections.abc import Mapping
from typing import Any, Final

from inference_app.problems import shown
from warmfleet.resolve.config_fields import Fields
from warmfleet.resolve.families import Family

__all__ = ["context_length"]

_STATED: Final = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "max_sequence_length",
    "max_seq_length",
    "seq_length",
    "model_max_length",
)
# Of these max_position_embeddings is the length after scaling already.
_INCLUDED: Final = {"su", "longrope", "llama3", "default", "mrope", "proportional"}


def context_length(fields: Fields, family: Family, model_type: str) -> int:
    """Return tokens, with what rotary positions are scaled by; the engine's rule.

    Source: vllm/config/model.py, ``_get_and_verify_max_len``: yarn starts from the original length,
    linear and dynamic multiply the stated one, and Gemma 3 states the scaled length.

    Raises:
        ValueError: no length, or a factor that is no number; the field is named.
    """
    stated = next((found for name in _STATED if (found := fields.number(name)) is not None), None)
    if stated is None:
        msg = f"max_position_embeddings: missing; needed tokens (or {', '.join(_STATED[1:])})"
        raise ValueError(msg)
    rope = fields.first("rope_scaling", "rope_parameters")
    if not isinstance(rope, Mapping) or model_type.startswith("gemma3"):
        return stated - family.position_offset
    return max(_scaled(one, stated) for one in _each(rope)) - family.position_offset


def _each(rope: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the parameters; there may be a set for each kind of layer."""
    inner = [part for part in rope.values() if isinstance(part, Mapping)]
    return inner if inner and len(inner) == len(rope) else [rope]


def _scaled(rope: Mapping[str, Any], stated: int) -> int:
    kind = str(rope.get("rope_type") or rope.get("type") or "default")
    if kind in _INCLUDED:
        return stated
    factor = rope.get("factor", 1.0)
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor <= 1e4:
        msg = f"rope_scaling.factor: found {shown(factor)}; needed a number above 0"
        raise ValueError(msg)
    if kind == "yarn":
        stated = Fields(rope).number("original_max_position_embeddings") or stated
    return int(stated * factor)
