"""Puts the chunks of a stream together into the completion that a non-streaming client reads."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from inference_app.usage import UsageTally

__all__ = ["Assembly", "ChatAssembly", "CompletionAssembly"]

_HEAD = ("id", "created", "model", "system_fingerprint", "service_tier")
_JOINED = ("content", "refusal", "reasoning_content")


class Assembly(ABC):
    """Collects the chunks of one answer.

    Args:
        usage: counts its tokens beside.
    """

    kind: ClassVar[str]
    """OpenAI's ``object`` of the whole answer."""

    legacy: ClassVar[bool] = False
    """Whether log probabilities have the older form."""

    def __init__(self, usage: UsageTally) -> None:
        self._usage = usage
        self._head: dict[str, Any] = {}
        self._choices: dict[int, dict[str, Any]] = {}

    def add(self, chunk: dict[str, Any]) -> None:
        """Add one chunk of the stream, in its order."""
        for key in _HEAD:
            if chunk.get(key) is not None:
                self._head.setdefault(key, chunk[key])
        self._usage.add(chunk)
        for part in chunk.get("choices") or []:
            index = int(part.get("index", 0))
            if index not in self._choices:
                self._choices[index] = {"index": index, **self._empty()}
            choice = self._choices[index]
            self._add_part(choice, part)
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
            self._close(choice)
        document = {**self._head, "object": self.kind, "choices": choices}
        usage = self._usage.total()
        return document if usage is None else {**document, "usage": usage}

    @abstractmethod
    def _empty(self) -> dict[str, Any]:
        """Return a choice to which nothing was said yet."""

    @abstractmethod
    def _add_part(self, choice: dict[str, Any], part: dict[str, Any]) -> None:
        """Add to a choice what a chunk says of it."""

    def _close(self, choice: dict[str, Any]) -> None:  # noqa: B027 - nothing to do is common
        """Bring a choice to which all was said into its final form."""


class ChatAssembly(Assembly):
    """Collects ``chat.completion.chunk`` objects; gives one ``chat.completion``."""

    kind = "chat.completion"

    def _empty(self) -> dict[str, Any]:
        return {
            "message": {"role": "assistant", "content": None},
            "logprobs": None,
            "finish_reason": None,
        }

    def _add_part(self, choice: dict[str, Any], part: dict[str, Any]) -> None:
        message, delta = choice["message"], part.get("delta") or {}
        if delta.get("role"):
            message["role"] = delta["role"]
        for key in _JOINED:
            if delta.get(key) is not None:
                message[key] = (message.get(key) or "") + delta[key]
        for call in delta.get("tool_calls") or []:
            _add_call(message.setdefault("tool_calls", {}), call)

    def _close(self, choice: dict[str, Any]) -> None:
        message = choice["message"]
        calls = message.get("tool_calls")
        if isinstance(calls, dict):
            message["tool_calls"] = [calls[index] for index in sorted(calls)]
        elif calls is None and message["content"] is None and message.get("refusal") is None:
            message["content"] = ""  # an answer that ended at once; null would say it is a call


class CompletionAssembly(Assembly):
    """Collects the chunks of a text completion, which have the form of the whole answer."""

    kind = "text_completion"
    legacy = True

    def _empty(self) -> dict[str, Any]:
        return {"text": "", "logprobs": None, "finish_reason": None}

    def _add_part(self, choice: dict[str, Any], part: dict[str, Any]) -> None:
        choice["text"] += part.get("text") or ""


def _add_call(calls: dict[int, dict[str, Any]], part: dict[str, Any]) -> None:
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
    for key, tokens in logprobs.items():  # "content" and "refusal", or lists of the older form
        if tokens is None:
            whole.setdefault(key, None)
        elif whole.get(key) is None:
            whole[key] = list(tokens)
        else:
            whole[key] += tokens
