"""Whatever an engine says, a client reads OpenAI's form."""

import json

import pytest

from inference_app.api_errors import ApiError, engine_error

_OVERFLOW = {
    "error": {
        "code": 400,
        "message": "request (3031 tokens) exceeds the available context size (2048 tokens)",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 3031,
        "n_ctx": 2048,
    }
}


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, json.dumps(_OVERFLOW), (400, "context_length_exceeded", "messages")),
        (200, json.dumps(_OVERFLOW), (400, "context_length_exceeded", "messages")),
        (
            400,
            '{"error": {"code": 400, "message": "bad", "type": "invalid_request_error"}}',
            (400, None, None),
        ),
        (
            422,
            '{"error": {"message": "bad", "param": "tools", "code": "odd"}}',
            (422, "odd", "tools"),
        ),
        (500, '{"error": {"code": 500, "message": "boom"}}', (500, "engine_error", None)),
        (503, '{"error": "loading"}', (503, "engine_error", None)),
        (500, "<html>", (502, "engine_error", None)),
        (404, '{"detail": "Not Found"}', (502, "engine_error", None)),
        (500, "[]", (502, "engine_error", None)),
    ],
)
def test_mapping(status: int, body: str, expected: tuple[int, str | None, str | None]) -> None:
    error = engine_error(status, body.encode())
    assert (error.status, error.code, error.param) == expected


def test_form() -> None:
    error = ApiError(429, "full", kind="rate_limit_error", code="overloaded", retry_after_s=1)
    document = {
        "error": {
            "message": "full",
            "type": "rate_limit_error",
            "param": None,
            "code": "overloaded",
        }
    }
    assert json.loads(error.body()) == document
    assert error.event() == b"data: " + error.body() + b"\n\n"
    assert error.headers() == {"retry-after": "1"}
    assert ApiError(400, "bad").headers() == {}
