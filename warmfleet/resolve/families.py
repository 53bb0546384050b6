"""What a config.json leaves out, by model family."""

from functools import cache
from importlib import resources
from typing import Any

import yaml
from msgspec import Struct

__all__ = ["Family", "family_of"]


class Family(Struct, frozen=True):
    """Facts of one ``model_type`` that its configs do not state."""

    tied_embeddings: bool
    feed_forward_matrices: int
    learned_positions: bool
    wide_by_default: bool
    """A feed-forward block is four times as wide as the model when the config does not say."""
    all_windowed: bool
    """A window is that of all layers when nothing says which."""
    encoder: bool
    position_offset: int
    """Positions of the table that no token can have."""
    defaults: dict[str, Any]


def family_of(model_type: str, *, nested: bool) -> Family:
    """Return the facts of a family; those of most when it is not known.

    Args:
        model_type: As the config says it.
        nested: The config is a part of another one: there even sizes are left out.
    """
    table = _table()
    defaults = table["defaults"].get(model_type, {})
    if nested:
        defaults = {**table["nested"].get(model_type, {}), **defaults}
    return Family(
        tied_embeddings=model_type in table["tied"],
        feed_forward_matrices=2 if model_type in table["two_matrices"] else 3,
        learned_positions=model_type in table["learned_positions"],
        wide_by_default=model_type in table["wide_by_default"],
        all_windowed=model_type in table["all_windowed"],
        encoder=model_type in table["encoders"],
        position_offset=2 if model_type in table["offset_positions"] else 0,
        defaults=defaults,
    )


@cache
def _table() -> dict[str, Any]:
    raw = (resources.files("warmfleet.resolve") / "data" / "families.yaml").read_bytes()
    table: dict[str, Any] = yaml.safe_load(raw)
    return table
