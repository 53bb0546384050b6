"""Requests that no client should send: what they have in common is that none may break us."""

import http.client
import json
from typing import Any

from hypothesis import strategies as st

__all__ = ["PATHS", "bodies", "post", "refused"]

PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings")

_OPENAI_FIELDS = (
    "model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens",
    "temperature", "top_p", "n", "seed", "stop", "logprobs", "top_logprobs", "tools",
    "tool_choice", "parallel_tool_calls", "response_format", "presence_penalty",
    "frequency_penalty", "logit_bias", "user", "metadata", "functions", "function_call",
    "prompt", "suffix", "echo", "best_of", "input", "encoding_format", "dimensions",
)  # fmt: skip
_ENGINE_FIELDS = (
    "cache_prompt", "ignore_eos", "n_predict", "min_p", "top_k", "grammar", "json_schema",
    "id_slot", "n_cmpl", "n_probs", "samplers", "chat_template_kwargs", "reasoning_format", "lora",
    "mirostat", "return_progress", "timings_per_token", "t_max_predict_ms", "n_keep",
)  # fmt: skip
_INNER_FIELDS = (
    "role", "content", "type", "text", "name", "function", "arguments", "parameters",
    "tool_calls", "image_url", "url", "include_usage", "json_schema", "schema",
)  # fmt: skip

_leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["user", "assistant", "system", "tool", "function", "auto", "json_object"])
)
_values = st.recursive(
    _leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(_INNER_FIELDS) | st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
_fields = st.dictionaries(
    st.sampled_from(_OPENAI_FIELDS + _ENGINE_FIELDS) | st.text(max_size=6), _values, max_size=4
)
_documents = st.builds(
    lambda fields: {
        "model": "chat",
        "messages": [{"role": "user", "content": "hello"}],
        "prompt": "hello",
        "input": "hello",
        "max_tokens": 2,
        **fields,
    },
    _fields,
)


def _spoilt(document: dict[str, Any], at: int, new: bytes) -> bytes:
    raw = json.dumps(document).encode()
    at %= len(raw)
    return raw[:at] + new + raw[at + len(new) :]


bodies: st.SearchStrategy[bytes] = st.one_of(
    st.builds(lambda document: json.dumps(document).encode(), _documents),
    st.builds(_spoilt, _documents, st.integers(0, 10_000), st.binary(max_size=2)),
    st.binary(max_size=60),
)


def post(base: str, body: bytes, timeout_s: float = 30, path: str = PATHS[0]) -> tuple[int, bytes]:
    """Send one completion request; return status and body."""
    connection = http.client.HTTPConnection(base.partition("//")[2], timeout=timeout_s)
    try:
        headers = {"content-type": "application/json"}
        connection.request("POST", path, body, headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def refused(status: int, answer: bytes) -> dict[str, Any]:
    """Return the error of an answer that refuses, in OpenAI's form and for the client's fault."""
    assert 400 <= status < 500, (status, answer)
    document = json.loads(answer)
    assert set(document) == {"error"}, answer
    error = document["error"]
    assert isinstance(error, dict)
    assert set(error) == {"message", "type", "param", "code"}, answer
    assert isinstance(error["message"], str)
    assert error["message"].strip()
    assert "Traceback" not in error["message"]
    return error
