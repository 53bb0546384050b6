"""What a streaming client gets of an engine's events: the bytes themselves where they will do."""

import json
from typing import Any, Final

from inference_app.api_errors import engine_error
from inference_app.generation_request import GenerationRequest
from inference_app.legacy_logprobs import LegacyLogprobs
from inference_app.sse import DONE, data_of, split_events
from inference_app.usage import UsageTally

__all__ = ["OPENAI_ERROR", "Relay", "chunk_of"]

OPENAI_ERROR: Final = b'data: {"error"'
_HEAD: Final = ("id", "object", "created", "model", "system_fingerprint")


class Relay:
    """Turns blocks of whole events into what the client reads.

    Args:
        request: what was asked for.
        usage: counts its tokens beside.
    """

    def __init__(self, request: GenerationRequest, usage: UsageTally) -> None:
        self._include_usage = request.include_usage
        self._legacy = LegacyLogprobs() if request.legacy_logprobs else None
        self._usage = usage
        self._usage_told = False
        self._head: dict[str, Any] = {}

    def pass_on(self, block: bytes) -> tuple[bytes, bool]:
        """Return what the client gets of a block, and whether the stream ends with it.

        Only blocks that hold usage, the end or an error are looked into.

        Raises:
            ApiError: the engine reports an error in the stream.
        """
        if (
            b'"usage"' in block
            or DONE in block
            or OPENAI_ERROR in block
            or self._legacy is not None
        ):
            return self._inspect(block)
        return block, False

    def _inspect(self, block: bytes) -> tuple[bytes, bool]:
        kept = bytearray()
        done = False
        for event in split_events(block):
            data = data_of(event)
            if data == DONE:
                done = True
                kept += self._last_usage()
            elif data is not None and OPENAI_ERROR in event:
                raise engine_error(500, data)
            elif data is not None and (self._legacy is not None or b'"usage"' in data):
                event = self._rewritten(event, data)  # noqa: PLW2901
            kept += event
        return bytes(kept), done

    def _rewritten(self, event: bytes, data: bytes) -> bytes:
        chunk = chunk_of(data)
        if self._usage.add(chunk):
            # The gate asked for usage. A client that did not must not see a chunk without choices.
            self._usage_told = self._include_usage
            return event if self._include_usage else b""
        if self._legacy is not None:
            self._legacy.rewrite(chunk)
        elif not isinstance(chunk.get("usage"), dict):
            return event
        chunk.pop("usage", None)  # of one choice: the sum comes last
        self._head = {name: chunk[name] for name in _HEAD if name in chunk}
        return _event(chunk)

    def _last_usage(self) -> bytes:
        total = self._usage.total()
        if total is None or self._usage_told or not self._include_usage:
            return b""
        return _event({**self._head, "choices": [], "usage": total})


def chunk_of(data: bytes) -> dict[str, Any]:
    """Return the chunk that an event carries.

    Raises:
        ApiError: 502, it carries something else.
    """
    try:
        chunk = json.loads(data)
    except ValueError:
        chunk = None
    if not isinstance(chunk, dict):
        raise engine_error(502, data)
    return chunk


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"
