"""What the gate must know of a request for the engine, and what it sends on."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self

from inference_app.api_errors import ApiError
from inference_app.endpoints import Endpoint
from inference_app.request_body import read_fields, write_fields
from inference_app.settings import LimitSettings

__all__ = ["GenerationRequest"]

_MOST_ANSWERS: Final = 32  # of one request: prompts times choices; each takes room in the engine
_MOST_INPUTS: Final = 2048  # OpenAI's; the engine works on all of them before it turns to another
# The last is llama.cpp's own name, which would get round the limit of the others.
_LENGTH_FIELDS: Final = ("max_completion_tokens", "max_tokens", "n_predict")


@dataclass(frozen=True)
class GenerationRequest:
    """One admitted request.

    Attributes:
        endpoint: what kind it is.
        body: JSON for the engine; of a generation always streamed, with usage and a length.
        stream: whether the client reads a stream.
        include_usage: whether that stream carries the usage chunk.
        legacy_logprobs: whether log probabilities have the form of text completions.
        choices: answers to each prompt.
    """

    endpoint: Endpoint
    body: bytes
    stream: bool = False
    include_usage: bool = False
    legacy_logprobs: bool = False
    choices: int = 1

    @classmethod
    def parse(
        cls,
        raw: bytes,
        endpoint: Endpoint,
        *,
        model: str,
        limits: LimitSettings,
        engine_fields: Mapping[str, object],
    ) -> Self:
        """Check the fields that the gate acts on; the engine checks the rest.

        Args:
            raw: the body.
            endpoint: what kind of request it is.
            model: the served name.
            limits: what a request may ask for.
            engine_fields: what every generation is sent with.

        Raises:
            ApiError: 400 or 404 in OpenAI's form, naming the field.
        """
        fields = read_fields(raw, model=model, form=endpoint.form)
        if endpoint.assembly is None:
            _check_inputs(endpoint, fields)
            return cls(endpoint, write_fields(fields))
        choices = _choices(fields)
        _check_answers(fields.get(endpoint.prompt), choices)
        stream, options = fields.get("stream") is True, fields.get("stream_options") or {}
        length = _length(fields, limits.max_output_tokens)
        for field in _LENGTH_FIELDS:
            fields.pop(field, None)
        fields["max_tokens"] = length
        fields |= engine_fields
        fields["stream"] = True
        fields["stream_options"] = {**options, "include_usage": True}
        return cls(
            endpoint,
            write_fields(fields),
            stream=stream,
            include_usage=stream and options.get("include_usage") is True,
            legacy_logprobs=endpoint.assembly.legacy and fields.get("logprobs") is not None,
            choices=choices,
        )

    @cached_property
    def fingerprint(self) -> str:
        """Tells this request from others, and says nothing of its text."""
        return hashlib.sha256(self.endpoint.path.encode() + b"\n" + self.body).hexdigest()


def _choices(fields: dict[str, Any]) -> int:
    # llama.cpp's own name, which wins over the other there, would get round the limit.
    own = _whole_above_0(fields, "n_cmpl")
    if own is not None:
        del fields["n_cmpl"]
        fields["n"] = own
    return fields.get("n") or 1


def _check_answers(prompt: object, choices: int) -> None:
    prompts = _count(prompt)
    if prompts * choices > _MOST_ANSWERS:
        raise ApiError(
            400,
            f"found {prompts} prompts with {choices} choices each; at most {_MOST_ANSWERS} answers "
            "a request",
            param="prompt" if prompts > 1 else "n",
        )


def _check_inputs(endpoint: Endpoint, fields: dict[str, Any]) -> None:
    inputs = _count(fields[endpoint.prompt])
    if inputs > _MOST_INPUTS:
        said = f"found {inputs} inputs; at most {_MOST_INPUTS} a request"
        raise ApiError(400, said, param=endpoint.prompt)


def _count(prompt: object) -> int:
    """Return how many texts there are: a list of numbers is one text as its tokens."""
    return len(prompt) if isinstance(prompt, list) and isinstance(prompt[0], str | list) else 1


def _length(fields: dict[str, Any], limit: int) -> int:
    lengths = []
    for name in _LENGTH_FIELDS:
        value = _whole_above_0(fields, name)
        if value is None:
            continue
        if value > limit:
            raise ApiError(400, f"{name} is {value}; at most {limit} here", param=name)
        lengths.append(value)
    return min(lengths, default=limit)


def _whole_above_0(fields: dict[str, Any], name: str) -> int | None:
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ApiError(400, f"{name} must be a whole number above 0", param=name)
    return value
