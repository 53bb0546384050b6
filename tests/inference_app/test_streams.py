"""Events however they are cut, and completions put together from them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_app.assembly import Assembly, ChatAssembly, CompletionAssembly
from inference_app.sse import DONE, EventBuffer, data_of, split_events
from inference_app.usage import UsageTally

_STREAMS = Path(__file__).parent / "data" / "streams"
_CASES = sorted(path.stem for path in _STREAMS.glob("*.sse"))


_ALL_TOKENS = {"completion_choices": (3, 8), "completion_prompts": (6, 8)}


def _assemble(stream: bytes, case: str) -> dict[str, Any]:
    tally = UsageTally(2 if case.endswith("choices") else 1)
    assembly: Assembly = ChatAssembly(tally)
    if case.startswith("completion"):
        assembly = CompletionAssembly(tally)
    for event in split_events(stream):
        data = data_of(event)
        if data is not None and data != DONE:
            assembly.add(json.loads(data))
    return assembly.completion()


@pytest.mark.parametrize("case", _CASES)
def test_a_stream_becomes_the_completion_of_the_same_request(case: str) -> None:
    assembled = _assemble((_STREAMS / f"{case}.sse").read_bytes(), case)
    whole = json.loads((_STREAMS / f"{case}.json").read_text())
    if case != "tool_calls":  # recorded as two requests, each with an identity of its own
        for name in ("id", "created"):
            assert type(assembled.pop(name)) is type(whole.pop(name))
    for choice in whole["choices"]:
        choice.setdefault("logprobs", None)
    if case in _ALL_TOKENS:  # llama.cpp counts those of the first choice alone
        prompt, output = _ALL_TOKENS[case]
        assert assembled.pop("usage") == {
            "prompt_tokens": prompt,
            "completion_tokens": output,
            "total_tokens": prompt + output,
        }
        del whole["usage"]
    assert assembled == whole


def test_the_cases_are_there() -> None:
    assert _CASES == [
        "choices",
        "completion_choices",
        "completion_prompts",
        "completion_text",
        "logprobs",
        "text",
        "tool_calls",
    ]


@pytest.mark.parametrize("case", _CASES)
def test_a_stream_without_its_end_is_no_completion(case: str) -> None:
    events = list(split_events((_STREAMS / f"{case}.sse").read_bytes()))
    for count in range(len(events)):
        cut = b"".join(events[:count])
        if b'"finish_reason":"' in cut or b'"finish_reason": "' in cut:
            break
        with pytest.raises(ValueError, match="before the completion did"):
            _assemble(cut, case)
    else:
        pytest.fail("the case has no finish reason")


@pytest.mark.parametrize(
    ("delta", "content"),
    [
        ({"role": "assistant"}, ""),
        ({"reasoning_content": "hm"}, ""),
        ({"refusal": "no"}, None),
        ({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f"}}]}, None),
    ],
)
def test_only_a_call_or_a_refusal_stands_in_for_content(
    delta: dict[str, Any], content: str | None
) -> None:
    assembly = ChatAssembly(UsageTally(1))
    assembly.add({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    assembly.add({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    assert assembly.completion()["choices"][0]["message"]["content"] == content


@given(st.data())
def test_chunks_may_be_cut_anywhere(data: st.DataObject) -> None:
    stream = (_STREAMS / f"{data.draw(st.sampled_from(_CASES))}.sse").read_bytes()
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=30).map(sorted))
    buffer, blocks = EventBuffer(), []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        block = buffer.feed(stream[start:end])
        assert block == b"" or block.endswith(b"\n\n")
        blocks.append(block)
    assert b"".join(blocks) == stream


@pytest.mark.parametrize(
    ("event", "data"),
    [
        (b"data: {}\n\n", b"{}"),
        (b"data:{}\n\n", b"{}"),
        (b": ping\n\n", None),
        (b"event: x\ndata: a\ndata: b\n\n", b"a\nb"),
        (b"\n\n", None),
        (b"data: null\n\n", None),
    ],
)
def test_data_of_an_event(event: bytes, data: bytes | None) -> None:
    assert data_of(event) == data
