"""Puts the chunks of a stream together into the completion that a non-streaming client reads."""

from typing import Any

__all__ = ["Assembly"]

_HEAD = ("id", "created", "model", "system_fingerprint", "service_tier")
_JOINED = ("content", "refusal", "reasoning_content")


class Assembly:
    """Collects ``chat.completion.chunk`` objects; gives one ``chat.completion``."""

    def __init__(self) -> None:
        self._head: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}
        self.usage: dict[str, Any] | None = None

    def add(self, chunk: dict[str, Any]) -> None:
        """Add one chunk of the stream, in its order."""
        for key in _HEAD:
            if chunk.get(key) is not None:
                self._head.setdefault(key, chunk[key])
        if chunk.get("usage"):
            self.usage = chunk["usage"]
        for part in chunk.get("choices") or []:
            index = int(part.get("index", 0))
            choice = self._choices.setdefault(index, _empty_choice(index))
            _add_delta(choice["message"], part.get("delta") or {})
            _add_logprobs(choice, part.get("logprobs"))
            if part.get("finish_reason") is not None:
                choice["finish_reason"] = part["finish_reason"]

    def completion(self) -> dict[str, Any]:
        """Return the whole completion.

        Raises:
            ValueError: the stream ended before a choice had its finish reason.
        """
        choices = [self._choices[index] for index in sorted(self._choices)]
        if not choices or any(choice["finish_reason"] is None for choice in choices):
            msg = "the stream ended before the completion did"
            raise ValueError(msg)
        for choice in choices:
            _close(choice["message"])
        document = {**self._head, "object": "chat.completion", "choices": choices}
        return document if self.usage is None else {**document, "usage": self.usage}


def _empty_choice(index: int) -> dict[str, Any]:
    return {
        "index": index,
        "message": {"role": "assistant", "content": None},
        "logprobs": None,
        "finish_reason": None,
    }


def _add_delta(message: dict[str, Any], delta: dict[str, Any]) -> None:
    if delta.get("role"):
        message["role"] = delta["role"]
    for key in _JOINED:
        if delta.get(key) is not None:
            message[key] = (message.get(key) or "") + delta[key]
    for part in delta.get("tool_calls") or []:
        calls = message.setdefault("tool_calls", {})
        call = calls.setdefault(
            int(part.get("index", 0)),
            {"id": None, "type": "function", "function": {"name": "", "arguments": ""}},
        )
        if part.get("id"):
            call["id"] = part["id"]
        if part.get("type"):
            call["type"] = part["type"]
        function = part.get("function") or {}
        call["function"]["name"] += function.get("name") or ""
        call["function"]["arguments"] += function.get("arguments") or ""


def _add_logprobs(choice: dict[str, Any], logprobs: dict[str, Any] | None) -> None:
    if logprobs is None:
        return
    whole = choice["logprobs"] = choice["logprobs"] or {}
    for key, tokens in logprobs.items():  # "content" and "refusal"
        if tokens is None:
            whole.setdefault(key, None)
        else:
            whole[key] = (whole.get(key) or []) + tokens


def _close(message: dict[str, Any]) -> None:
    calls = message.get("tool_calls")
    if isinstance(calls, dict):
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    elif calls is None and message["content"] is None and message.get("refusal") is None:
        message["content"] = ""  # an answer that ended at once; null would say that it is a call
