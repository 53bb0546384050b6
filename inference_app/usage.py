"""Token counts of one answer, wherever its engine writes them."""

from collections.abc import Mapping
from typing import Any

__all__ = ["UsageTally"]


class UsageTally:
    """Collects usage from the chunks of a stream.

    An engine writes it once for the whole answer, in a chunk without choices, or into chunks of
    each choice, where the last one counts.

    Args:
        choices: answers to each prompt: their prompt is counted once.
    """

    def __init__(self, choices: int) -> None:
        self._choices = choices
        self._whole: dict[str, Any] | None = None
        self._of_choice: dict[int, dict[str, Any]] = {}

    def add(self, chunk: Mapping[str, Any]) -> bool:
        """Note what a chunk says; return whether it says it of the whole answer."""
        usage, parts = chunk.get("usage"), chunk.get("choices")
        if not isinstance(usage, dict):
            return False
        if not parts:
            self._whole = usage
            return True
        self._of_choice[int(parts[0].get("index", 0))] = usage
        return False

    def total(self) -> dict[str, Any] | None:
        """Return the usage of the whole answer in OpenAI's form, None where none was told."""
        if self._whole is not None or not self._of_choice:
            return self._whole
        if len(self._of_choice) == 1:
            return next(iter(self._of_choice.values()))
        prompt = output = 0
        for index, usage in self._of_choice.items():
            output += int(usage.get("completion_tokens", 0))
            if index % self._choices == 0:
                prompt += int(usage.get("prompt_tokens", 0))
        return {
            "prompt_tokens": prompt,
            "completion_tokens": output,
            "total_tokens": prompt + output,
        }
