"""Errors that a client reads, in OpenAI's form: ``{"error": {message, type, param, code}}``."""

import json
import re
from typing import Final

__all__ = ["ApiError", "engine_error", "engine_lost"]

_ENGINE_BODY_SHOWN: Final = 300
_BAD_REQUEST: Final = 400
_SERVER_ERROR: Final = 500
_TOO_MANY: Final = 429
# llama.cpp calls these failures of its own; what a chat template refuses is among them.
_OF_THE_REQUEST: Final = re.compile(
    r"Failed to parse |Invalid |Jinja Exception|Missing |Unknown |Unsupported "
    r"|(image|audio|video) input is not supported"
    r"|This server does not support embeddings|Pooling type "
)
_TOO_LARGE: Final = re.compile(r"input \(\d+ tokens\) is too large")


class ApiError(Exception):
    """An answer other than a completion.

    Args:
        status: HTTP status, used where no byte of the answer has been sent yet.
        message: what was found and what is needed.
        kind: OpenAI's ``type``.
        code: stable word for programs.
        param: the request field at fault.
        retry_after_s: seconds for the Retry-After header.
        retry: False where sending it again cannot help; OpenAI's client then does not.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
        retry_after_s: int | None = None,
        retry: bool = True,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.code = code
        self.param = param
        self.retry_after_s = retry_after_s
        self.retry = retry

    def body(self) -> bytes:
        """Return the JSON document."""
        error = {
            "message": self.message,
            "type": self.kind,
            "param": self.param,
            "code": self.code,
        }
        return json.dumps({"error": error}).encode()

    @property
    def ours(self) -> bool:
        """Whether the service or its engine failed, rather than the request."""
        return self.status >= _SERVER_ERROR

    @property
    def too_many(self) -> bool:
        """Whether there was too much at once."""
        return self.status == _TOO_MANY

    def event(self) -> bytes:
        """Return the server-sent event that ends a stream that had begun."""
        return b"data: " + self.body() + b"\n\n"

    def headers(self) -> dict[str, str]:
        """Return the headers that belong to this error."""
        headers = {} if self.retry_after_s is None else {"retry-after": str(self.retry_after_s)}
        return headers if self.retry else {**headers, "x-should-retry": "false"}


def engine_error(status: int, body: bytes, *, prompt: str = "messages") -> ApiError:
    """Map an engine's error answer, or error event, to ours.

    Args:
        status: the engine's HTTP status; an ``error.code`` that is a status wins over it.
        body: JSON in the engine's form, or anything at all from a broken engine.
        prompt: the field with what the model reads.
    """
    error = _error_object(body)
    if error is None:
        shown = body[:_ENGINE_BODY_SHOWN].decode(errors="replace")
        return ApiError(
            502, f"the engine answered {status}: {shown}", kind="server_error", code="engine_error"
        )
    message = str(error.get("message") or "the engine gave no reason")
    code = error.get("code")
    if isinstance(code, int) and _BAD_REQUEST <= code < _SERVER_ERROR + 100:
        status, code = code, None
    if _OF_THE_REQUEST.match(message):
        status = _BAD_REQUEST
    if error.get("type") == "exceed_context_size_error" or _TOO_LARGE.match(message):
        return ApiError(400, message, param=prompt, code="context_length_exceeded")
    if _BAD_REQUEST <= status < _SERVER_ERROR:
        param = error.get("param")
        return ApiError(
            status,
            message,
            code=code if isinstance(code, str) else None,
            param=param if isinstance(param, str) else None,
        )
    return ApiError(max(status, _SERVER_ERROR), message, kind="server_error", code="engine_error")


def engine_lost() -> ApiError:
    """Return what a client reads whose engine ended before its answer did."""
    return ApiError(
        503,
        "the engine ended before its answer did; send the request again",
        kind="server_error",
        code="engine_lost",
    )


def _error_object(body: bytes) -> dict[str, object] | None:
    try:
        document = json.loads(body)
    except ValueError:
        return None
    error = document.get("error") if isinstance(document, dict) else None
    if isinstance(error, str):
        return {"message": error}
    return error if isinstance(error, dict) else None
