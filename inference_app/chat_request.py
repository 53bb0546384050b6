"""What the gate must know of a chat completion request, and what it sends on to the engine."""

import json
from dataclasses import dataclass
from typing import Any, Final, Self

from pydantic import ValidationError

from inference_app.api_errors import ApiError
from inference_app.chat_schema import ChatFields
from inference_app.problems import problems, written
from inference_app.settings import LimitSettings

__all__ = ["ChatRequest"]

# The last is llama.cpp's own name, which would get round the limit of the others.
_LENGTH_FIELDS: Final = ("max_completion_tokens", "max_tokens", "n_predict")


@dataclass(frozen=True)
class ChatRequest:
    """One admitted request.

    Attributes:
        body: JSON for the engine: always streamed, always with usage and a length.
        stream: whether the client reads a stream.
        include_usage: whether that stream carries the usage chunk.
    """

    body: bytes
    stream: bool
    include_usage: bool

    @classmethod
    def parse(cls, raw: bytes, *, model: str, limits: LimitSettings) -> Self:
        """Check the fields that the gate acts on; the engine checks the rest.

        Raises:
            ApiError: 400 or 404 in OpenAI's form, naming the field.
        """
        fields = _read(raw)
        _check_model(fields.get("model"), model)
        _check_form(fields)
        stream, options = fields.get("stream") is True, fields.get("stream_options") or {}
        length = _length(fields, limits.max_output_tokens)
        for field in _LENGTH_FIELDS:
            fields.pop(field, None)
        fields["max_tokens"] = length
        fields["stream"] = True
        fields["stream_options"] = {**options, "include_usage": True}
        return cls(
            body=_written(fields),
            stream=stream,
            include_usage=stream and options.get("include_usage") is True,
        )


def _read(raw: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(raw.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise _no_json(f"not UTF-8 text (byte {error.start})") from error
    except RecursionError as error:
        raise _no_json("nested too deep") from error
    except ValueError as error:
        raise _no_json(str(error)) from error
    if not isinstance(fields, dict):
        raise ApiError(400, "the body must be a JSON object", code="invalid_json")
    return fields


def _written(fields: dict[str, Any]) -> bytes:
    try:
        return json.dumps(fields, allow_nan=False).encode()
    except RecursionError as error:  # it was read a little less deep in the stack
        raise _no_json("nested too deep") from error
    except ValueError as error:
        raise _no_json("it holds a number that is too large") from error


def _no_json(reason: str) -> ApiError:
    return ApiError(400, f"the body is not JSON: {reason}", code="invalid_json")


def _refuse_constant(found: str) -> None:
    msg = f"found {found}; needed a finite number"
    raise ValueError(msg)


def _check_form(fields: dict[str, Any]) -> None:
    try:
        ChatFields.model_validate(fields)
    except ValidationError as error:
        where, said = next(iter(problems(error, ChatFields, fields).items()))
        place = written(where)
        raise ApiError(400, f"{place}: {said}", param=place) from error


def _check_model(asked: object, served: str) -> None:
    if not isinstance(asked, str) or not asked:
        raise ApiError(400, f"name the model: {served}", param="model")
    if asked != served:
        raise ApiError(
            404,
            f"the model {asked[:100]!r} does not exist here; served: {served}",
            param="model",
            code="model_not_found",
        )


def _length(fields: dict[str, Any], limit: int) -> int:
    lengths = []
    for name in _LENGTH_FIELDS:
        value = fields.get(name)
        if value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ApiError(400, f"{name} must be a whole number above 0", param=name)
        if value > limit:
            raise ApiError(400, f"{name} is {value}; at most {limit} here", param=name)
        lengths.append(value)
    return min(lengths, default=limit)
