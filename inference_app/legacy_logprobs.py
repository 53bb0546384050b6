"""Log probabilities of text completions: OpenAI's older form, where engines use the chat's."""

from collections import defaultdict
from typing import Any

__all__ = ["LegacyLogprobs"]


class LegacyLogprobs:
    """Rewrites the chunks of one answer, in their order."""

    def __init__(self) -> None:
        self._offsets: dict[int, int] = defaultdict(int)  # characters of each choice so far

    def rewrite(self, chunk: dict[str, Any]) -> None:
        """Bring the log probabilities of a chunk into the older form, in place."""
        for part in chunk.get("choices") or []:
            index = int(part.get("index", 0))
            if isinstance(part.get("logprobs"), dict):
                part["logprobs"] = _older(part["logprobs"], self._offsets[index])
            self._offsets[index] += len(part.get("text") or "")


def _older(logprobs: dict[str, Any], offset: int) -> dict[str, Any]:
    tokens = logprobs.get("content")
    if not isinstance(tokens, list):
        return logprobs  # it has that form already
    older: dict[str, Any] = {
        "tokens": [token["token"] for token in tokens],
        "token_logprobs": [token["logprob"] for token in tokens],
        "top_logprobs": [
            {entry["token"]: entry["logprob"] for entry in token.get("top_logprobs") or []}
            for token in tokens
        ],
        "text_offset": [],
    }
    for token in older["tokens"]:
        older["text_offset"].append(offset)
        offset += len(token)
    return older
