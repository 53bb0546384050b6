"""What a stream's client reads where it is not the engine's bytes themselves."""

import json
from pathlib import Path
from typing import Any

import pytest

from inference_app.endpoints import CHAT, COMPLETIONS, Endpoint
from inference_app.generation_request import GenerationRequest
from inference_app.legacy_logprobs import LegacyLogprobs
from inference_app.relay import Relay
from inference_app.usage import UsageTally
from tests.inference_app.support import events_of

_STREAMS = Path(__file__).parent / "data" / "streams"


def _read(stream: bytes, endpoint: Endpoint, choices: int = 1, **fields: Any) -> bytes:
    request = GenerationRequest(endpoint, b"{}", stream=True, choices=choices, **fields)
    relay = Relay(request, UsageTally(choices))
    events = [event + b"\n\n" for event in stream.split(b"\n\n")[:-1]]
    return b"".join(relay.pass_on(event)[0] for event in events)


@pytest.mark.parametrize(
    ("case", "choices", "tokens"),
    [("text", 1, (3, 4)), ("choices", 2, (3, 8)), ("prompts", 1, (6, 8))],
)
def test_usage_of_all_choices_comes_once_and_last(
    case: str, choices: int, tokens: tuple[int, int]
) -> None:
    stream = (_STREAMS / f"completion_{case}.sse").read_bytes()
    asked = events_of(_read(stream, COMPLETIONS, choices, include_usage=True))
    usage = asked[-2]
    assert isinstance(usage, dict)
    assert usage["choices"] == []
    assert (usage["object"], usage["model"]) == ("text_completion", "chat")
    found = usage["usage"]
    assert (found["prompt_tokens"], found["completion_tokens"]) == tokens
    plain = events_of(_read(stream, COMPLETIONS, choices))
    assert asked[:-2] == plain[:-1]
    assert not any("usage" in event for event in plain if isinstance(event, dict))
    assert asked[-1] == plain[-1] == "[DONE]"


def test_usage_that_the_engine_writes_once_stays_as_it_is() -> None:
    stream = (_STREAMS / "text.sse").read_bytes()
    assert _read(stream, CHAT, include_usage=True) == stream


def test_log_probabilities_of_texts_have_their_older_form() -> None:
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "text": text, "logprobs": {"content": [token]}}]}
        for text, token in (
            ("The", {"token": "The", "logprob": -0.5}),
            (
                " sky",
                {
                    "token": " sky",
                    "logprob": -1.0,
                    "top_logprobs": [{"token": " a", "logprob": -0.9}],
                },
            ),
        )
    ] + [{"choices": [{"index": 0, "text": "", "logprobs": None, "finish_reason": "stop"}]}]
    stream = b"".join(b"data: %s\n\n" % json.dumps(chunk).encode() for chunk in chunks)
    events = events_of(_read(stream + b"data: [DONE]\n\n", COMPLETIONS, legacy_logprobs=True))
    found = [event["choices"][0]["logprobs"] for event in events if isinstance(event, dict)]
    assert found == [
        {"tokens": ["The"], "token_logprobs": [-0.5], "top_logprobs": [{}], "text_offset": [0]},
        {
            "tokens": [" sky"],
            "token_logprobs": [-1.0],
            "top_logprobs": [{" a": -0.9}],
            "text_offset": [3],
        },
        None,
    ]


def test_the_older_form_of_an_engine_is_left_alone() -> None:
    chunk = {"choices": [{"text": "a", "logprobs": {"tokens": ["a"], "token_logprobs": [-1]}}]}
    before = json.dumps(chunk)
    LegacyLogprobs().rewrite(chunk)
    assert json.dumps(chunk) == before


def test_counts_that_grow_in_every_chunk_are_counted_once() -> None:
    tally = UsageTally(1)
    for tokens in (1, 2, 3):
        usage = {"prompt_tokens": 5, "completion_tokens": tokens, "total_tokens": 5 + tokens}
        tally.add({"choices": [{"index": 0}], "usage": usage})
    assert tally.total() == {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
