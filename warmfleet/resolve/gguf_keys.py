"""Numbers in the head of a GGUF file, by key below its architecture."""

from collections.abc import Mapping
from typing import Any, Final

from inference_app.problems import shown

__all__ = ["GgufKeys"]

_MOST: Final = 10**9
"""Above any size of a model's shape."""


class GgufKeys:
    """Values below ``FAMILY.``; a wrong one is told with its whole key."""

    def __init__(self, family: str, values: Mapping[str, Any]) -> None:
        self.family = family
        self._values = values

    def get(self, name: str) -> Any:
        """Return the value of a key, None when it is missing."""
        return self._values.get(f"{self.family}.{name}")

    def number(self, name: str, *, least: int = 1, most: int = _MOST) -> int | None:
        """Return a whole number, None when it is missing.

        Raises:
            ValueError: another value.
        """
        value = self.get(name)
        return None if value is None else self._whole(name, value, least, most)

    def needed(self, name: str, *, most: int = _MOST) -> int:
        """Return a whole number above zero that must be there.

        Raises:
            ValueError: missing, or another value.
        """
        value = self.number(name, most=most)
        if value is None:
            msg = f"{self.family}.{name}: missing; needed a whole number above zero"
            raise ValueError(msg)
        return value

    def each(self, name: str, layers: int) -> list[int] | None:
        """Return a number for each layer, from one for all or a list; None when it is missing.

        Raises:
            ValueError: another value, or a list for fewer layers.
        """
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            return [self._whole(name, value, 0)] * layers
        if len(value) < layers:
            msg = f"{self.family}.{name}: found {len(value)} items; needed {layers}, one a layer"
            raise ValueError(msg)
        return [self._whole(name, item, 0) for item in value[:layers]]

    def alike(self, name: str, layers: int) -> int | None:
        """Return the one number above zero that layers have; None when it is missing.

        Raises:
            ValueError: layers have different ones.
        """
        found = {number for number in self.each(name, layers) or () if number}
        if len(found) > 1:
            msg = f"{self.family}.{name}: found layers of different shapes; needed layers alike"
            raise ValueError(msg)
        return found.pop() if found else None

    def _whole(self, name: str, value: Any, least: int, most: int = _MOST) -> int:
        if isinstance(value, float) or not isinstance(value, int) or not least <= value <= most:
            msg = (
                f"{self.family}.{name}: found {shown(value)}; needed a whole number from {least} "
                f"to {most}"
            )
            raise ValueError(msg)
        return int(value)
