"""The data path against an engine that says anything."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import aiohttp
import pytest
from starlette.types import Message

from inference_app.admission import Admission
from inference_app.api_errors import ApiError
from inference_app.data_path import DataPath
from inference_app.endpoints import CHAT
from inference_app.engine_client import EngineClient
from inference_app.generation import GenerationResponse
from inference_app.generation_request import GenerationRequest
from inference_app.metrics import ServiceMetrics
from inference_app.quarantine import Quarantine
from inference_app.settings import ServiceSettings
from inference_app.state import StateMachine
from tests.inference_app.support import events_of, settings_document, text_of


def _event(content: str, **fields: object) -> bytes:
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": None}
    return b"data: " + json.dumps({"choices": [choice], **fields}).encode() + b"\n\n"


_END = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'
_USAGE = b'data: {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}\n\n'
_DONE = b"data: [DONE]\n\n"


class _FakeReply:
    def __init__(self, status: int, chunks: list[bytes | Exception | None]) -> None:
        self.status = status
        self._chunks = chunks

    async def error_body(self) -> bytes:
        return b"".join(chunk for chunk in self._chunks if isinstance(chunk, bytes))

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            if chunk is None:
                await asyncio.Event().wait()
            elif isinstance(chunk, Exception):
                raise chunk
            else:
                yield chunk


class _FakeEngineClient:
    """Gives scripted chunks; None is silence for ever."""

    def __init__(self, status: int, chunks: list[bytes | Exception | None]) -> None:
        self._reply = _FakeReply(status, chunks)
        self.asked = False
        self.left = asyncio.Event()

    @contextlib.asynccontextmanager
    async def send(self, _path: str, _body: bytes) -> AsyncIterator[_FakeReply]:
        self.asked = True
        try:
            yield self._reply
        finally:
            self.left.set()


class _Call:
    """One ASGI call of the response under test."""

    def __init__(
        self,
        chunks: list[bytes | Exception | None],
        *,
        stream: bool = True,
        include_usage: bool = False,
        status: int = 200,
        generation_s: float = 20.0,
        admission: Admission | None = None,
        within_s: float | None = None,
    ) -> None:
        self.engine = _FakeEngineClient(status, chunks)
        self.admission = admission or Admission(1, 1)
        self.sent: list[Message] = []
        self.gone = asyncio.Event()
        self.spoke = asyncio.Event()
        self.stuck: asyncio.Event | None = None
        metrics = ServiceMetrics(StateMachine(), self.admission)
        self._metrics = metrics
        document = settings_document(Path("unused"))
        document["timeouts"]["generation_s"] = generation_s
        path = DataPath(
            ServiceSettings.model_validate(document),
            cast(EngineClient, self.engine),
            {},
            self.admission,
            Quarantine(Path("unused")),
            metrics,
        )
        response = GenerationResponse(
            GenerationRequest(CHAT, b"{}", stream, include_usage),
            self.admission.enter(),
            path,
            until=None if within_s is None else time.monotonic() + within_s,
        )
        self.task = asyncio.ensure_future(response({"type": "http"}, self._receive, self._send))

    async def _receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self.sent.append(message)
        self.spoke.set()
        if self.stuck is not None:
            await self.stuck.wait()

    async def finish(self) -> "_Call":
        await asyncio.wait_for(self.task, 20)
        assert self.engine.left.is_set() is self.engine.asked, "its connection is given up"
        assert self.admission.in_flight == 0, "the ticket is given back"
        return self

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)

    def outcome(self) -> str:
        text = self._metrics.exposition().decode()
        counted = [line for line in text.splitlines() if "_requests_total{" in line]
        (line,) = [line for line in counted if line.endswith(" 1.0")]
        return line.split('"')[1]


@pytest.mark.parametrize("stream", [True, False])
async def test_events_cut_anywhere(stream: bool) -> None:
    whole = _event("a") + _event("b") + _END + _USAGE + _DONE
    call = await _Call([whole[:20], whole[20:21], whole[21:-3], whole[-3:]], stream=stream).finish()
    assert call.outcome() == "completed"
    if stream:
        assert call.body == _event("a") + _event("b") + _END + _DONE
        assert call.sent[-1]["more_body"] is False
    else:
        assert json.loads(call.body)["choices"][0]["message"]["content"] == "ab"


async def test_usage_that_was_asked_for_is_relayed_untouched() -> None:
    whole = _event("a") + _END + _USAGE + _DONE
    call = await _Call([whole], include_usage=True).finish()
    assert call.body == whole


async def test_usage_beside_choices_is_taken_out_alone() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 1}
    call = await _Call([_event("a", usage=usage), _END, _DONE]).finish()
    assert text_of(events_of(call.body)) == "a"
    assert b"usage" not in call.body


async def test_text_that_looks_like_a_mark_is_text() -> None:
    words = ['"usage"', "[DONE]", 'data: {"error"']
    call = await _Call([*map(_event, words), _END, _DONE]).finish()
    assert call.outcome() == "completed"
    assert text_of(events_of(call.body)) == "".join(words)


async def test_a_comment_sends_no_header() -> None:
    error = b'data: {"error": {"code": 500, "message": "boom"}}\n\n'
    call = await _Call([b": ping\n\n", error]).finish()
    assert call.status == 500, "the header waited for what the engine had to say"
    assert call.outcome() == "engine_failed"


_PROGRESS = _event("", prompt_progress={"total": 9, "processed": 4})


@pytest.mark.parametrize("stream", [True, False])
async def test_progress_of_a_prompt_is_no_part_of_the_answer(stream: bool) -> None:
    said = _event('the "prompt_progress": is text')
    call = await _Call([_PROGRESS, _PROGRESS + said, _END, _DONE], stream=stream).finish()
    assert call.outcome() == "completed"
    if stream:
        assert call.body == said + _END + _DONE
    failed = await _Call([_PROGRESS], stream=stream).finish()
    assert failed.status == 503, "the header waited for what the engine had to say"


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("chunks", "code"),
    [
        ([_event("a")], "engine_lost"),
        ([_event("a"), b"data: {half"], "engine_lost"),
        ([_event("a"), aiohttp.ClientPayloadError("cut")], "engine_lost"),
        ([_event("a"), ConnectionResetError()], "engine_lost"),
        ([_event("a"), aiohttp.SocketTimeoutError("slow")], "engine_lost"),
        ([_event("a"), b'data: {"usage" nonsense\n\n'], "engine_error"),
        ([_event("a"), b'data: ["usage"]\n\n'], "engine_error"),
        ([_event("a"), b'data: {"error": {"message": "boom"}}\n\n'], "engine_error"),
    ],
)
async def test_an_engine_that_breaks_after_its_first_event(
    chunks: list[bytes | Exception | None], code: str, stream: bool
) -> None:
    call = await _Call(chunks, stream=stream).finish()
    assert call.outcome() == "engine_failed"
    if stream:
        assert call.status == 200
        first, last = events_of(call.body)
        assert text_of([first]) == "a"
        assert isinstance(last, dict)
        assert last["error"]["code"] == code
        assert call.sent[-1]["more_body"] is False
    else:
        assert call.status >= 500
        assert json.loads(call.body)["error"]["code"] == code


async def test_an_engine_that_accepts_no_connection_is_lost_not_late() -> None:
    call = await _Call([aiohttp.ConnectionTimeoutError("no connection in 5 s")]).finish()
    assert (call.status, call.outcome()) == (503, "engine_failed")
    assert json.loads(call.body)["error"]["code"] == "engine_lost"


async def test_an_engine_that_refuses_is_a_refusal() -> None:
    refusal = b'{"error": {"code": 400, "message": "no", "type": "invalid_request_error"}}'
    call = await _Call([refusal], status=400).finish()
    assert (call.status, call.outcome()) == (400, "refused")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("chunks", [[None], [_event("a"), None]])
async def test_a_client_that_leaves(chunks: list[bytes | Exception | None], stream: bool) -> None:
    call = _Call(chunks, stream=stream)
    await asyncio.sleep(0)
    call.gone.set()
    await call.finish()
    assert call.outcome() == "cancelled"
    assert not any(message.get("more_body") is False for message in call.sent)


@pytest.mark.parametrize(("chunks", "status"), [([None], 503), ([_event("a"), None], 200)])
async def test_a_cut_is_told(chunks: list[bytes | Exception | None], status: int) -> None:
    call = _Call(chunks)
    if status == 200:
        await asyncio.wait_for(call.spoke.wait(), 20)
    assert call.admission.close(ApiError(503, "stopping", code="unavailable")) == 1
    await call.finish()
    assert (call.status, call.outcome()) == (status, "cut")
    assert b'"code": "unavailable"' in call.body


async def test_a_client_that_does_not_read_holds_no_slot_beyond_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("inference_app.generation._LAST_WORDS_S", 0.05)
    call = _Call([_event("a"), _event("b")], generation_s=0.05)
    call.stuck = asyncio.Event()
    await call.finish()
    assert call.outcome() == "timed_out"


async def test_requests_wait_for_a_slot_in_their_order() -> None:
    admission = Admission(4, 1)
    calls = [_Call([_event("a"), None], admission=admission) for _ in range(4)]
    await asyncio.wait_for(calls[0].spoke.wait(), 20)
    assert [call.engine.asked for call in calls] == [True, False, False, False]
    assert admission.waiting == 3
    calls[1].gone.set()
    await asyncio.wait_for(calls[1].task, 20)
    assert (calls[1].outcome(), admission.waiting) == ("cancelled", 2)
    calls[0].gone.set()
    await asyncio.wait_for(calls[2].spoke.wait(), 20)
    assert [call.engine.asked for call in calls] == [True, False, True, False]
    assert admission.close(ApiError(503, "stopping", code="unavailable")) == 2
    await asyncio.wait_for(asyncio.gather(*(call.task for call in calls)), 20)
    assert [call.outcome() for call in calls[2:]] == ["cut", "cut"]
    assert calls[3].status == 503
    assert (admission.waiting, admission.in_flight) == (0, 0)


@pytest.mark.parametrize("chunks", [[None], [_event("a"), None]])
async def test_a_request_may_limit_its_own_time(chunks: list[bytes | Exception | None]) -> None:
    call = await _Call(chunks, within_s=0.05).finish()
    assert call.outcome() == "timed_out"
    assert b'"code": "deadline_exceeded"' in call.body
    if len(chunks) == 1:
        assert call.status == 504
        assert (b"x-should-retry", b"false") in call.sent[0]["headers"]


async def test_the_time_limit_of_a_request_holds_while_it_waits() -> None:
    admission = Admission(2, 1)
    first = _Call([_event("a"), None], admission=admission)
    await asyncio.wait_for(first.spoke.wait(), 20)
    second = _Call([_event("b")], admission=admission, within_s=0.05)
    await asyncio.wait_for(second.task, 20)
    assert (second.status, second.engine.asked) == (504, False)
    assert (admission.in_flight, admission.waiting) == (1, 0)
    first.gone.set()
    await first.finish()


async def test_who_is_pushed_out_is_told_as_an_overload() -> None:
    call = _Call([None])
    (ticket,) = call.admission._tickets
    ticket.end(ApiError(429, "too many", code="overloaded", retry_after_s=3))
    await call.finish()
    assert (call.status, call.outcome()) == (429, "overloaded")
