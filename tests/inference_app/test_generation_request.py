"""What the gate refuses, and what it sends on."""

import json
from typing import Any

import pytest

from inference_app.api_errors import ApiError
from inference_app.endpoints import CHAT, EMBEDDINGS
from inference_app.generation_request import GenerationRequest
from inference_app.settings import LimitSettings

_LIMITS = LimitSettings(max_output_tokens=64, max_in_flight=2)
_MESSAGES = [{"role": "user", "content": "hello"}]


def _parse(**fields: object) -> GenerationRequest:
    raw = json.dumps({"model": "chat", "messages": _MESSAGES, **fields}).encode()
    return GenerationRequest.parse(raw, CHAT, model="chat", limits=_LIMITS, engine_fields={})


def _sent(request: GenerationRequest) -> dict[str, Any]:
    body = json.loads(request.body)
    assert isinstance(body, dict)
    return body


def test_the_engine_is_always_asked_for_a_stream_with_usage() -> None:
    request = _parse(temperature=0.5, vendor_field={"kept": [1]})
    assert not request.stream
    assert _sent(request) == {
        "model": "chat",
        "messages": _MESSAGES,
        "temperature": 0.5,
        "vendor_field": {"kept": [1]},
        "max_tokens": 64,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


@pytest.mark.parametrize(
    ("fields", "stream", "include_usage"),
    [
        ({}, False, False),
        ({"stream": None}, False, False),
        ({"stream": True}, True, False),
        ({"stream": True, "stream_options": None}, True, False),
        ({"stream": True, "stream_options": {"include_usage": False}}, True, False),
        ({"stream": True, "stream_options": {"include_usage": True}}, True, True),
        ({"stream_options": {"include_usage": True}}, False, False),
    ],
)
def test_what_the_client_reads(fields: dict[str, Any], stream: bool, include_usage: bool) -> None:
    request = _parse(**fields)
    assert (request.stream, request.include_usage) == (stream, include_usage)


@pytest.mark.parametrize(
    ("fields", "length"),
    [
        ({}, 64),
        ({"max_tokens": 7}, 7),
        ({"max_completion_tokens": 64}, 64),
        ({"max_tokens": 9, "max_completion_tokens": 5}, 5),
        ({"max_tokens": None, "max_completion_tokens": 3}, 3),
        ({"n_predict": 4}, 4),
    ],
)
def test_length(fields: dict[str, Any], length: int) -> None:
    sent = _sent(_parse(**fields))
    assert sent["max_tokens"] == length
    assert not {"max_completion_tokens", "n_predict"} & sent.keys()


@pytest.mark.parametrize(
    ("fields", "status", "param"),
    [
        ({"model": "other"}, 404, "model"),
        ({"model": None}, 400, "model"),
        ({"model": 5}, 400, "model"),
        ({"messages": []}, 400, "messages"),
        ({"messages": "hello"}, 400, "messages"),
        ({"messages": None}, 400, "messages"),
        ({"stream": "yes"}, 400, "stream"),
        ({"stream": True, "stream_options": [1]}, 400, "stream_options"),
        ({"messages": [5]}, 400, "messages[0]"),
        ({"messages": [{}]}, 400, "messages[0].role"),
        ({"messages": [{"role": 5}]}, 400, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 5}]}, 400, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{}]}]}, 400, "messages[0].content[0].type"),
        ({"tools": {}}, 400, "tools"),
        ({"tools": [{"type": "function"}]}, 400, "tools[0].function"),
        ({"temperature": "hot"}, 400, "temperature"),
        ({"temperature": True}, 400, "temperature"),
        ({"n": 0}, 400, "n"),
        ({"stop": [5]}, 400, "stop[0]"),
        ({"response_format": {"type": "jsn_schema"}}, 400, "response_format.type"),
        ({"max_tokens": 65}, 400, "max_tokens"),
        ({"max_tokens": 0}, 400, "max_tokens"),
        ({"max_tokens": -1}, 400, "max_tokens"),
        ({"max_tokens": 2.5}, 400, "max_tokens"),
        ({"max_tokens": True}, 400, "max_tokens"),
        ({"n_predict": -1}, 400, "n_predict"),
        ({"n_cmpl": 33}, 400, "n"),
        ({"n_cmpl": "2"}, 400, "n_cmpl"),
        ({"max_completion_tokens": 1000}, 400, "max_completion_tokens"),
    ],
)
def test_refusals_name_the_field(fields: dict[str, Any], status: int, param: str) -> None:
    with pytest.raises(ApiError) as caught:
        _parse(**fields)
    assert (caught.value.status, caught.value.param) == (status, param)


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"[1]", b'"text"', b"\xff\xfe", b"[" * 200_000], ids=lambda raw: raw[:6]
)
def test_what_is_not_an_object_is_refused(raw: bytes) -> None:
    with pytest.raises(ApiError) as caught:
        GenerationRequest.parse(raw, CHAT, model="chat", limits=_LIMITS, engine_fields={})
    assert (caught.value.status, caught.value.code) == (400, "invalid_json")


def test_an_engines_own_name_for_choices_is_theirs() -> None:
    request = _parse(n=1, n_cmpl=3)
    sent = _sent(request)
    assert (request.choices, sent["n"], "n_cmpl" in sent) == (3, 3, False)


def test_a_request_has_at_most_as_many_inputs_as_openai_takes() -> None:
    def embed(texts: object) -> GenerationRequest:
        raw = json.dumps({"model": "chat", "input": texts}).encode()
        return GenerationRequest.parse(
            raw, EMBEDDINGS, model="chat", limits=_LIMITS, engine_fields={}
        )

    assert json.loads(embed(["a"] * 2048).body)["input"] == ["a"] * 2048
    embed([7] * 4000)  # tokens of one text
    with pytest.raises(ApiError, match="found 2049 inputs; at most 2048") as caught:
        embed(["a"] * 2049)
    assert (caught.value.status, caught.value.param) == (400, "input")
