"""Fields of a config.json under the names that model families gave them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from inference_app.problems import shown

__all__ = ["DIALECTS", "Fields"]

# First the name that transformers uses today, then what older and remote code writes.
DIALECTS: Final[Mapping[str, tuple[str, ...]]] = {
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers"),
    "hidden_size": ("n_embd", "d_model", "model_dim"),
    "num_attention_heads": ("n_head", "n_heads", "num_heads"),
    "num_key_value_heads": (
        "num_kv_heads",
        "n_head_kv",
        "n_kv_heads",
        "num_query_groups",
        "attn_config.kv_n_heads",
    ),
    "head_dim": ("kv_channels", "head_size"),
    "intermediate_size": ("n_inner", "ffn_hidden_size", "ffn_dim", "d_ff", "intermediate_dim"),
    "vocab_size": ("n_vocab",),
    "num_experts": (
        "num_local_experts",
        "n_routed_experts",
        "moe_num_experts",
        "num_routed_experts",
        "ffn_config.moe_num_experts",
    ),
    "num_experts_per_tok": (
        "num_experts_per_token",
        "experts_per_token",
        "num_selected_experts",
        "moe_topk",
        "moe_top_k",
        "moe_k",
        "top_k_experts",
        "ffn_config.moe_top_k",
    ),
    "moe_intermediate_size": (
        "expert_ffn_hidden_size",
        "moe_ffn_hidden_size",
        "expert_hidden_size",
        "ffn_config.ffn_hidden_size",
    ),
    "n_shared_experts": ("num_shared_experts", "num_shared_expert", "moe_num_shared_experts"),
    "shared_expert_intermediate_size": ("shared_intermediate_size",),
    "first_k_dense_replace": ("num_dense_layers", "moe_layer_start_index"),
    "dtype": ("torch_dtype",),
}

_MOST: Final = 10**9
"""Above any size of a model's shape; a larger number is a mistake or an attack."""


class Fields:
    """Values by today's name, wherever and under whichever name they stand.

    ``defaults`` are those of the family's class: a config.json leaves out what equals them.
    """

    def __init__(
        self, config: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
    ) -> None:
        self._config = config
        self._defaults = defaults or {}

    def get(self, name: str) -> Any:
        """Return the value, or the family's default; None when there is neither.

        Raises:
            ValueError: two names of the field have different values.
        """
        found = list(self._found(name))
        if not found:
            # null says that there is none, and the default does not hold.
            return None if name in self._config else self._defaults.get(name)
        first, value = found[0]
        for other, differs in found[1:]:
            if differs != value:
                msg = (
                    f"{first}: found {shown(value)}, but {other}: {shown(differs)}; needed one "
                    "value for the two names of this field"
                )
                raise ValueError(msg)
        return value

    def first(self, *names: str) -> Any:
        """Return the value of the first of several fields that is there."""
        return next((value for name in names if (value := self.get(name)) is not None), None)

    def number(self, name: str, *, least: int = 1, most: int = _MOST) -> int | None:
        """Return a whole number, None when it is missing.

        Raises:
            ValueError: another value; the field is named.
        """
        value = self.get(name)
        if value is None:
            return None
        if isinstance(value, list) and len(set(map(str, value))) == 1:
            value = value[0]  # one entry a layer, all the same
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            msg = (
                f"{self.written(name)}: found {shown(value)}; needed a whole number from {least} "
                f"to {most}"
            )
            raise ValueError(msg)
        return value

    def needed(self, name: str, *, most: int = _MOST) -> int:
        """Return a whole number above zero that must be there.

        Raises:
            ValueError: missing, or another value; the field and its other names are named.
        """
        value = self.number(name, most=most)
        if value is None:
            others = DIALECTS.get(name, ())
            also = f" (or {', '.join(others)})" if others else ""
            msg = f"{name}: missing; needed a whole number above zero{also}"
            raise ValueError(msg)
        return value

    def flag(self, name: str) -> bool | None:
        """Return true or false, None when it is missing.

        Raises:
            ValueError: another value; the field is named.
        """
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            msg = f"{self.written(name)}: found {shown(value)}; needed true or false"
            raise ValueError(msg)
        return value

    def items(self, name: str) -> list[Any] | None:
        """Return a list of numbers or words, None when it is missing.

        Raises:
            ValueError: another value; the field is named.
        """
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(item, int | str) for item in value):
            msg = f"{self.written(name)}: found {shown(value)}; needed a list of numbers or words"
            raise ValueError(msg)
        return value

    def words(self, *names: str) -> list[str]:
        """Return the entries of the first list, or the letters of a text, that is there; else none.

        Raises:
            ValueError: another value; the field is named.
        """
        for name in names:
            value = self.get(name)
            if isinstance(value, str | list):
                return [str(word) for word in value]
            if value is not None:
                msg = f"{self.written(name)}: found {shown(value)}; needed a list"
                raise ValueError(msg)
        return []

    def part(self, name: str) -> "Fields":
        """Return the fields of a mapping inside; none when it is missing."""
        value = self.get(name)
        return Fields(value if isinstance(value, dict) else {})

    def written(self, name: str) -> str:
        """Return the name that the config itself uses for a field."""
        return next((found for found, _ in self._found(name)), name)

    def _found(self, name: str) -> Iterator[tuple[str, Any]]:
        for alias in (name, *DIALECTS.get(name, ())):
            value: Any = self._config
            for part in alias.split("."):
                value = value.get(part) if isinstance(value, Mapping) else None
            if value is not None:
                yield alias, value
