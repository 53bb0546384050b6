"""The traffic port of a running replica, as clients meet it."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp
import openai
import pytest

from tests.inference_app.support import (
    MESSAGES,
    ReplicaProcess,
    ask_engine,
    chat_body,
    events_of,
    eventually,
    replica_process,
    settings_document,
    text_of,
)

_SLOW = 64  # tokens, 0.6 s at the speed below


@pytest.fixture(scope="module")
def replica(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplicaProcess]:
    folder = tmp_path_factory.mktemp("traffic")
    document = settings_document(
        folder, tokens_per_s=100, fail_on="PLEASE-FAIL", first_token_s=0.02
    )
    with replica_process(folder, document) as process:
        process.wait_ready()
        yield process


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplicaProcess]:
    """Yield one whose long answers end after a test does."""
    folder = tmp_path_factory.mktemp("slow")
    document = settings_document(folder, tokens_per_s=5.0)
    document["warmup"]["shapes"] = [{"prompt_tokens": 9, "output_tokens": 1}]
    with replica_process(folder, document) as process:
        process.wait_ready()
        yield process


@contextmanager
def _standing(replica: ReplicaProcess) -> Iterator[None]:
    """Let its engine stand still for the block: what is in it, or waits, stays there."""
    _, engine = replica.engine()
    os.kill(engine, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(engine, signal.SIGCONT)


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


async def _error(response: aiohttp.ClientResponse) -> dict[str, Any]:
    document = await response.json()
    assert set(document) == {"error"}
    assert set(document["error"]) == {"message", "type", "param", "code"}
    error = document["error"]
    assert isinstance(error, dict)
    return error


async def test_a_stream_and_a_whole_answer_are_the_same_generation(
    replica: ReplicaProcess, session: aiohttp.ClientSession
) -> None:
    async with session.post(replica.chat_url, json=chat_body(max_tokens=5)) as response:
        whole = await response.json()
        assert response.headers["content-type"] == "application/json"
    async with session.post(
        replica.chat_url, json=chat_body(max_tokens=5, stream=True)
    ) as response:
        assert response.status == 200
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert response.headers["x-accel-buffering"] == "no"
        events = events_of(await response.read())
    assert events[-1] == "[DONE]"
    assert text_of(events) == whole["choices"][0]["message"]["content"]
    assert len(text_of(events).split()) == 5
    assert {event["model"] for event in events if isinstance(event, dict)} == {"chat"}
    assert (whole["model"], whole["object"]) == ("chat", "chat.completion")
    assert whole["usage"] == {"prompt_tokens": 4, "completion_tokens": 5, "total_tokens": 9}


async def test_usage_is_in_a_stream_only_where_it_was_asked_for(
    replica: ReplicaProcess, session: aiohttp.ClientSession
) -> None:
    for options, expected in ((None, []), ({"include_usage": True}, [5])):
        body = chat_body(max_tokens=5, stream=True, stream_options=options)
        async with session.post(replica.chat_url, json=body) as response:
            events = events_of(await response.read())
        chunks = [event for event in events if isinstance(event, dict)]
        assert [c["usage"]["completion_tokens"] for c in chunks if c.get("usage")] == expected
        without_choices = [chunk for chunk in chunks if not chunk["choices"]]
        assert len(without_choices) == len(expected)


async def test_events_arrive_as_they_are_generated(
    slow: ReplicaProcess, session: aiohttp.ClientSession
) -> None:
    loop = asyncio.get_running_loop()
    arrivals = []
    async with session.post(slow.chat_url, json=chat_body(max_tokens=6, stream=True)) as reply:
        async for chunk in reply.content.iter_any():
            arrivals += [loop.time()] * chunk.count(b"data: ")
    assert len(arrivals) == 8
    assert arrivals[-1] - arrivals[0] > 0.2, "6 tokens at 5/s take 1.2 s; buffered they take none"


async def test_the_official_client_reads_both(client: openai.AsyncOpenAI) -> None:
    messages: Any = MESSAGES
    whole = await client.chat.completions.create(model="chat", messages=messages, max_tokens=6)
    assert whole.usage is not None
    assert whole.usage.completion_tokens == 6
    assert whole.choices[0].finish_reason == "length"
    stream = await client.chat.completions.create(
        model="chat",
        messages=messages,
        max_tokens=6,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    assert chunks[-1].usage == whole.usage
    assert [model.id async for model in client.models.list()] == ["chat"]
    assert (await client.models.retrieve("chat")).id == "chat"


async def test_the_official_client_knows_the_errors(client: openai.AsyncOpenAI) -> None:
    messages: Any = MESSAGES
    with pytest.raises(openai.NotFoundError, match="does not exist here; served: chat") as missing:
        await client.chat.completions.create(model="gpt-9", messages=messages)
    assert missing.value.code == "model_not_found"
    with pytest.raises(openai.BadRequestError, match="at most 64") as refused:
        await client.chat.completions.create(model="chat", messages=messages, max_tokens=65)
    assert refused.value.param == "max_tokens"
    long: Any = [{"role": "user", "content": "word " * 600}]
    with pytest.raises(openai.BadRequestError, match="exceeds the available context") as overflow:
        await client.chat.completions.create(model="chat", messages=long, stream=True)
    assert overflow.value.code == "context_length_exceeded"


async def test_no_byte_is_sent_before_the_engine_has_sent_one(
    replica: ReplicaProcess, session: aiohttp.ClientSession
) -> None:
    messages = [{"role": "user", "content": "PLEASE-FAIL"}]
    for stream in (True, False):
        body = chat_body(messages=messages, stream=stream)
        async with session.post(replica.chat_url, json=body) as response:
            assert response.status == 500
            assert (await _error(response))["code"] == "engine_error"


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\x00" * 9])
async def test_what_is_not_json_is_refused(
    replica: ReplicaProcess, session: aiohttp.ClientSession, raw: bytes
) -> None:
    async with session.post(replica.chat_url, data=raw) as response:
        assert response.status == 400
        assert (await _error(response))["code"] == "invalid_json"


async def test_a_body_above_the_limit_is_refused_unread(
    replica: ReplicaProcess, session: aiohttp.ClientSession
) -> None:
    too_large = json.dumps(chat_body(filler="x" * 20_000)).encode()

    async def chunked() -> AsyncIterator[bytes]:
        for start in range(0, len(too_large), 4096):
            yield too_large[start : start + 4096]

    for data in (too_large, chunked()):
        async with session.post(replica.chat_url, data=data) as response:
            assert response.status == 413
            assert (await _error(response))["code"] == "body_too_large"


async def test_unknown_paths_and_methods(
    replica: ReplicaProcess, session: aiohttp.ClientSession
) -> None:
    for method, path, status in (
        ("GET", "/v1/nothing", 404),
        ("GET", "/v1/chat/completions", 405),
        ("GET", "/v1/models/other", 404),
        ("GET", "/readyz", 404),  # the admin port's
        ("GET", "/docs", 404),
    ):
        async with session.request(method, replica.base + path) as response:
            assert response.status == status
            await _error(response)


async def test_every_answer_names_replica_and_request(
    replica: ReplicaProcess, session: aiohttp.ClientSession
) -> None:
    for given, kept in (("trace-7.a", True), ("bad id\t!", False), ("x" * 129, False)):
        for path in ("/v1/models", "/nowhere"):
            async with session.get(
                replica.base + path, headers={"X-Request-Id": given}
            ) as response:
                assert response.headers["X-Warmfleet-Replica"]
                assert (response.headers["X-Request-Id"] == given) is kept


async def test_more_than_the_limit_is_told_when_to_come_back(
    replica: ReplicaProcess, session: aiohttp.ClientSession
) -> None:
    body = chat_body(max_tokens=_SLOW, stream=True)
    with _standing(replica):
        streams = [asyncio.create_task(_read_all(session, replica, body)) for _ in range(4)]
        await eventually(lambda: _in_flight(session, replica, 4), "4 requests in flight")
        async with session.post(replica.chat_url, json=body) as response:
            assert response.status == 429
            assert response.headers["Retry-After"] == "1"
            assert (await _error(response))["code"] == "overloaded"
    for events in await asyncio.gather(*streams):
        assert len(text_of(events).split()) == _SLOW, "refusing one must not cost the others"
    await eventually(lambda: _in_flight(session, replica, 0), "nothing in flight")


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_goes_away_ends_its_generation(
    slow: ReplicaProcess, session: aiohttp.ClientSession, stream: bool
) -> None:
    socket, _ = slow.engine()
    before = await ask_engine(socket, "/fake/stats")
    wasted_before = (await _metrics(session, slow))["warmfleet_service_wasted_tokens_total"]
    request = asyncio.create_task(
        _read_all(session, slow, chat_body(max_tokens=_SLOW, stream=stream))
    )

    async def begun() -> bool:
        return (await ask_engine(socket, "/fake/stats"))["tokens"] > before["tokens"]

    async def cancelled() -> bool:
        return (await ask_engine(socket, "/fake/stats"))["cancelled"] == before["cancelled"] + 1

    await eventually(begun, "a token")
    request.cancel()
    await asyncio.gather(request, return_exceptions=True)
    await eventually(cancelled, "the engine's cancel")
    after = await ask_engine(socket, "/fake/stats")
    assert after["completed"] == before["completed"]
    assert after["tokens"] - before["tokens"] < _SLOW / 2, "the generation went on"
    await eventually(lambda: _in_flight(session, slow, 0), "the slot is free again")
    wasted = (await _metrics(session, slow))["warmfleet_service_wasted_tokens_total"]
    assert 0 < wasted - wasted_before <= after["tokens"] - before["tokens"]


async def test_a_client_that_goes_away_in_the_queue_costs_nothing(
    replica: ReplicaProcess, session: aiohttp.ClientSession
) -> None:
    socket, _ = replica.engine()
    before = await ask_engine(socket, "/fake/stats")
    body = chat_body(max_tokens=_SLOW)
    with _standing(replica):
        busy = [asyncio.create_task(_read_all(session, replica, body)) for _ in range(2)]
        await eventually(lambda: _in_flight(session, replica, 2), "both slots taken")
        queued = asyncio.create_task(_read_all(session, replica, body))
        await eventually(lambda: _in_flight(session, replica, 3), "one queued")
        queued.cancel()
        await eventually(lambda: _in_flight(session, replica, 2), "the queued one gone")
    await asyncio.gather(*busy)
    after = await ask_engine(socket, "/fake/stats")
    assert after["tokens"] - before["tokens"] == 2 * _SLOW


async def test_a_prompt_that_is_too_long_is_told_before_it_waits(
    slow: ReplicaProcess, session: aiohttp.ClientSession
) -> None:
    busy = [
        asyncio.create_task(_read_all(session, slow, chat_body(max_tokens=_SLOW))) for _ in range(3)
    ]
    await eventually(lambda: _in_flight(session, slow, 3), "no slot is free")
    long = "word " * 600
    for path, param, fields in (
        ("chat/completions", "messages", {"messages": [{"role": "user", "content": long}]}),
        ("completions", "prompt", {"prompt": long}),
        ("completions", "prompt", {"prompt": ["short", long]}),
        ("completions", "prompt", {"prompt": [7] * 600}),
        ("completions", "prompt", {"prompt": "\ud800 " + "word " * 599}),
    ):
        body = {"model": "chat", "max_tokens": 2, **fields}
        async with session.post(f"{slow.base}/v1/{path}", json=body) as response:
            assert response.status == 400
            error = await _error(response)
        assert (error["code"], error["param"]) == ("context_length_exceeded", param)
        assert "600 tokens long" in error["message"]
    assert not any(task.done() for task in busy)
    for task in busy:
        task.cancel()
    await eventually(lambda: _in_flight(session, slow, 0), "nothing in flight")


async def test_one_key_cannot_keep_another_out(
    replica: ReplicaProcess, session: aiohttp.ClientSession
) -> None:
    async def ask(key: str) -> tuple[int, str | None]:
        headers = {"X-Warmfleet-Key": key}
        body = chat_body(max_tokens=_SLOW)
        async with session.post(replica.chat_url, json=body, headers=headers) as response:
            await response.read()
            return response.status, response.headers.get("Retry-After")

    with _standing(replica):
        greedy = [asyncio.create_task(ask("greedy")) for _ in range(4)]
        await eventually(lambda: _in_flight(session, replica, 4), "the replica is full")
        modest = asyncio.create_task(ask("modest"))
        await eventually(lambda: any(task.done() for task in greedy), "one makes room")
    assert (await modest)[0] == 200
    found = sorted(await asyncio.gather(*greedy))
    assert [status for status, _ in found] == [200, 200, 200, 429]
    assert int(found[-1][1] or 0) >= 1


async def test_a_request_that_cannot_be_in_time_is_refused_at_once(
    replica: ReplicaProcess, session: aiohttp.ClientSession
) -> None:
    body = chat_body(max_tokens=_SLOW)
    await _read_all(session, replica, body)  # how long one takes is known now
    headers = {"X-Request-Timeout": "0.05"}
    with _standing(replica):
        busy = [asyncio.create_task(_read_all(session, replica, body)) for _ in range(3)]
        await eventually(lambda: _in_flight(session, replica, 3), "no slot is free")
        async with session.post(replica.chat_url, json=body, headers=headers) as response:
            assert response.status == 429
            assert (await _error(response))["code"] == "deadline_unreachable"
    await asyncio.gather(*busy)
    async with session.post(replica.chat_url, json=body, headers=headers) as response:
        assert response.status == 504
        assert (await _error(response))["code"] == "deadline_exceeded"


async def test_metrics_count_what_happened(
    replica: ReplicaProcess, session: aiohttp.ClientSession
) -> None:
    before = await _metrics(session, replica)
    async with session.post(replica.chat_url, json=chat_body(max_tokens=5)) as response:
        await response.read()
    async with session.post(replica.chat_url, json=chat_body(max_tokens=0)) as response:
        await response.read()

    async def counted() -> bool:
        now = await _metrics(session, replica)
        changed = {name for name in now if now[name] != before.get(name)}
        expected = {
            'warmfleet_service_requests_total{outcome="completed"}': 1.0,
            'warmfleet_service_requests_total{outcome="refused"}': 1.0,
            "warmfleet_service_output_tokens_total": 5.0,
            "warmfleet_service_prompt_tokens_total": 4.0,
            "warmfleet_service_first_token_seconds_count": 1.0,
            "warmfleet_service_request_seconds_count": 1.0,
        }
        return expected.keys() <= changed and all(
            now[name] - before[name] == by for name, by in expected.items()
        )

    await eventually(counted, "one completed, one refused")
    now = await _metrics(session, replica)
    assert now['warmfleet_service_state{state="ready"}'] == 1
    assert (
        sum(value for name, value in now.items() if name.startswith("warmfleet_service_state")) == 1
    )
    assert now['warmfleet_service_cold_start_seconds{phase="warmup"}'] > 0
    assert all(name.startswith("warmfleet_service_") for name in now)


async def test_prompts_are_in_no_log(
    replica: ReplicaProcess, session: aiohttp.ClientSession
) -> None:
    messages = [{"role": "user", "content": "canary-8141"}]
    for fields in ({}, {"stream": True}, {"max_tokens": 0}, {"tools": "canary-8141"}):
        body = chat_body(**{"messages": messages, "max_tokens": 2, **fields})
        async with session.post(replica.chat_url, json=body) as response:
            await response.read()
    assert "event=request" in replica.log()
    assert "canary" not in replica.log()


async def _read_all(
    session: aiohttp.ClientSession, replica: ReplicaProcess, body: dict[str, object]
) -> list[dict[str, Any] | str]:
    async with session.post(replica.chat_url, json=body) as response:
        assert response.status == 200
        return events_of(await response.read())


async def _in_flight(
    session: aiohttp.ClientSession, replica: ReplicaProcess, expected: int
) -> bool:
    return (await _metrics(session, replica))["warmfleet_service_in_flight"] == expected


async def _metrics(session: aiohttp.ClientSession, replica: ReplicaProcess) -> dict[str, float]:
    async with session.get(f"{replica.admin}/metrics") as response:
        lines = (await response.text()).splitlines()
    pairs = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
    return {name: float(value) for name, value in pairs}
