"""From cold to warm to drained: what may be reached when, and what a failed start leaves."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from inference_app.errors import EngineError, ListenError, WarmupFailedError
from inference_app.listener import Listener
from inference_app.relay import Relay
from inference_app.state import ReplicaState
from tests.inference_app.support import (
    LocalReplica,
    accepts,
    chat_body,
    events_of,
    eventually,
    free_port,
    local_replica,
    replica_process,
    settings_document,
    text_of,
)


async def _readyz(replica: LocalReplica) -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{replica.admin}/readyz") as response,
    ):
        return response.status, (await response.json())["state"]


async def _coldstart(replica: LocalReplica) -> dict[str, Any]:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{replica.admin}/coldstart") as response,
    ):
        document = await response.json()
    assert isinstance(document, dict)
    return document


async def test_the_traffic_port_is_bound_only_when_warm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(tmp_path / "notify"))
    manager.setblocking(False)
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    document = settings_document(tmp_path, load_s=0.2, compile_s=0.2)
    document["traffic"]["port"] = port = free_port()
    with manager:
        async with local_replica(document, until=ReplicaState.LOADING) as replica:
            cold = set()
            while not await accepts(port):
                assert "READY=1" not in _received(manager)
                status, state = await _readyz(replica)
                assert status == 503 or state == "ready"
                cold.add(state)
            assert {"loading", "warming"} <= cold
            await replica.reach(ReplicaState.READY)
            assert await _readyz(replica) == (200, "ready")
            assert "READY=1" in _received(manager)
        assert "STOPPING=1" in _received(manager)


async def test_the_ledger_accounts_for_the_whole_start(tmp_path: Path) -> None:
    document = settings_document(tmp_path, load_s=0.1)
    document["warmup"]["shapes"].append({"prompt_tokens": 80, "output_tokens": 2, "stream": False})
    async with local_replica(document) as replica:
        ledger = await _coldstart(replica)
        assert replica.ledger() == ledger
    phases = ledger["phases"]
    assert [phase["name"] for phase in phases] == [
        "process_start",
        "engine_start",
        "weights",
        "engine_init",
        "first_forward",
        "warmup",
        "warmup",
        "ready",
    ]
    assert sum(phase["duration_s"] for phase in phases) == pytest.approx(
        ledger["total_s"], abs=1e-4
    )
    weights = phases[2]
    assert weights["duration_s"] >= 0.1
    assert weights["detail"]["bytes"] == 1_000_000
    assert weights["detail"]["gb_per_s"] == pytest.approx(0.001 / weights["duration_s"], abs=0.001)
    shapes = [phase["detail"] for phase in phases if phase["name"] == "warmup"]
    assert [shape["prompt_tokens"] for shape in shapes] == [40, 80]
    for shape in shapes:
        assert shape["measured_prompt_tokens"] == shape["prompt_tokens"]
        assert shape["probes"] >= 2
        assert 0 < shape["ttft_median_s"] <= shape["median_s"]


async def test_the_first_user_does_not_pay_for_the_compile(tmp_path: Path) -> None:
    document = settings_document(tmp_path, compile_s=1.0)
    async with local_replica(document) as replica:
        warmup = (await _coldstart(replica))["phases"][-2]
        assert warmup["name"] == "warmup"
        assert warmup["duration_s"] > 1.0
        started = asyncio.get_running_loop().time()
        messages = [{"role": "user", "content": "word " * 40}]
        events = await _stream(replica, chat_body(max_tokens=4, messages=messages, stream=True))
        assert events[-1] == "[DONE]"
        assert asyncio.get_running_loop().time() - started < 0.9


async def test_drain_goes_in_order_and_loses_nothing(tmp_path: Path) -> None:
    document = settings_document(tmp_path, tokens_per_s=40)
    document["timeouts"]["probe_interval_s"] = 0.4
    document["traffic"]["port"] = port = free_port()
    async with local_replica(document) as replica, aiohttp.ClientSession() as session:
        async with session.get(f"http://127.0.0.1:{port}/v1/models") as response:
            await response.read()  # leaves an idle connection behind
        long = asyncio.create_task(_stream(replica, chat_body(max_tokens=64, stream=True)))
        await eventually(lambda: replica.service._admission.in_flight == 1, "a request in flight")
        replica.service.stop()
        await replica.reach(ReplicaState.DRAINING)

        assert await _readyz(replica) == (503, "draining"), "readiness goes first"
        assert await accepts(port), "the proxy may not have seen it yet"
        late = await _stream(replica, chat_body(max_tokens=2, stream=True))
        assert late[-1] == "[DONE]"

        async def closed() -> bool:
            return not await accepts(port)

        await eventually(closed, "the listener to close")
        assert not long.done(), "the listener closes while work goes on"
        assert await _readyz(replica) == (503, "draining")
        events = await long
        assert events[-1] == "[DONE]"
        assert len(text_of(events).split()) == 64
        await asyncio.wait_for(replica.task, 10)  # the idle connection does not hold it up


async def test_a_drain_that_takes_too_long_is_cut_and_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "inference_app")
    document = settings_document(tmp_path, tokens_per_s=5)
    document["timeouts"]["drain_s"] = 0.3
    async with local_replica(document) as replica:
        requests = [
            asyncio.create_task(_raw(replica, chat_body(max_tokens=64, stream=stream)))
            for stream in (True, False)
        ]
        await eventually(lambda: replica.service._admission.in_flight == 2, "both in flight")
        replica.service.stop()
        (streamed_status, streamed), (whole_status, whole) = await asyncio.gather(*requests)
        await replica.task
    assert streamed_status == 200
    last = events_of(streamed)[-1]
    assert isinstance(last, dict)
    assert last["error"]["code"] == "unavailable"
    assert whole_status == 503
    assert b"this replica is stopping" in whole
    assert "event=drained cut=2" in caplog.text


async def test_an_engine_that_dies_takes_the_replica_out_at_once(tmp_path: Path) -> None:
    document = settings_document(tmp_path, tokens_per_s=20, die_on="DIE-NOW", fault_after_tokens=2)
    die = [{"role": "user", "content": "DIE-NOW"}]
    async with local_replica(document) as replica:
        (status, body), (bystander_status, bystander) = await asyncio.gather(
            _raw(replica, chat_body(messages=die, max_tokens=9, stream=True)),
            _raw(replica, chat_body(max_tokens=64)),
        )
        with pytest.raises(EngineError, match=r"the engine ended \(exit status 70\)"):
            await asyncio.wait_for(replica.task, 10)
        assert replica.service.state is ReplicaState.FAILED
    assert status == 200
    first, second, error = events_of(body)
    assert text_of([first, second]).split()
    assert isinstance(error, dict)
    assert error["error"]["code"] == "engine_lost"
    assert bystander_status == 503
    assert b"engine_lost" in bystander


async def test_an_engine_error_in_mid_stream_is_told_in_the_stream(tmp_path: Path) -> None:
    # Paced: an error that comes together with the first token is a status, not an event.
    document = settings_document(
        tmp_path, fail_on="FAIL-NOW", fault_after_tokens=3, tokens_per_s=20
    )
    messages = [{"role": "user", "content": "FAIL-NOW"}]
    async with local_replica(document) as replica:
        status, body = await _raw(replica, chat_body(messages=messages, stream=True))
        events = events_of(body)
        assert status == 200
        assert len(text_of(events[:-1]).split()) == 3
        assert isinstance(events[-1], dict)
        assert events[-1]["error"] == {
            "message": "a fault was asked for",
            "type": "server_error",
            "param": None,
            "code": "engine_error",
        }
        status, body = await _raw(replica, chat_body(messages=messages))
        assert status == 500
        assert b"engine_error" in body
        events = await _stream(replica, chat_body(max_tokens=2, stream=True))
        assert events[-1] == "[DONE]", "one failed generation is not a failed replica"


async def test_a_generation_has_a_deadline(tmp_path: Path) -> None:
    document = settings_document(tmp_path, tokens_per_s=20)
    document["timeouts"]["generation_s"] = 0.5
    async with local_replica(document) as replica:
        (streamed_status, streamed), (whole_status, whole) = await asyncio.gather(
            _raw(replica, chat_body(max_tokens=64, stream=True)),
            _raw(replica, chat_body(max_tokens=64)),
        )
        assert streamed_status == 200
        last = events_of(streamed)[-1]
        assert isinstance(last, dict)
        assert last["error"]["code"] == "generation_timeout"
        assert whole_status == 504
        assert b"longer than 0.5 s" in whole


async def test_the_wait_for_a_slot_is_no_part_of_the_deadline(tmp_path: Path) -> None:
    document = settings_document(tmp_path, tokens_per_s=80)  # 32 tokens take 0.4 s
    document["engine"]["slots"] = 1
    document["timeouts"]["generation_s"] = 1.0
    async with local_replica(document) as replica:
        began = asyncio.get_running_loop().time()
        answers = await asyncio.gather(
            *(_raw(replica, chat_body(max_tokens=32, stream=True)) for _ in range(4))
        )
        assert asyncio.get_running_loop().time() - began > 1.5, "they went one by one"
        for status, body in answers:
            assert status == 200, body
            assert len(text_of(events_of(body)).split()) == 32


async def test_more_probes_than_slots_wait_for_one_another(tmp_path: Path) -> None:
    document = settings_document(tmp_path)
    document["engine"]["slots"] = 1
    document["warmup"]["shapes"][0]["concurrency"] = 4
    async with local_replica(document) as replica:
        assert replica.ledger()["failure"] is None


async def test_a_start_that_hangs_fails_at_its_budget_and_says_where(tmp_path: Path) -> None:
    document = settings_document(tmp_path, start_fault="hang")
    document["warmup"]["budget_s"] = 2.5
    with pytest.raises(WarmupFailedError, match=r"not warm within 2\.5 s; slowest: \w+"):
        async with local_replica(document):
            pass
    (path,) = (tmp_path / "state" / "ledger").glob("*.json")
    assert '"failure": "not warm within 2.5 s' in path.read_text()
    assert '"name": "weights"' in path.read_text(), "the evidence shows how far it came"


async def test_a_warm_up_that_cannot_end_in_time_fails_at_its_budget(tmp_path: Path) -> None:
    document = settings_document(tmp_path, first_token_s=30.0)
    document["warmup"]["budget_s"] = 1.5
    with pytest.raises(WarmupFailedError, match=r"not warm within 1\.5 s"):
        async with local_replica(document):
            pass


async def test_an_engine_that_answers_nonsense_fails_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_prompt_tokens(_self: Relay, _event: bytes, _data: bytes) -> bytes:
        return b'data: {"choices": [], "usage": {"completion_tokens": 1}}\n\n'

    monkeypatch.setattr(Relay, "_rewritten", without_prompt_tokens)
    async with local_replica(settings_document(tmp_path), until=ReplicaState.FAILED) as replica:
        with pytest.raises(WarmupFailedError, match="a probe failed: KeyError: 'prompt_tokens'"):
            await replica.task
        assert replica.ledger()["failure"].startswith("a probe failed: KeyError")


async def test_an_engine_that_ends_at_start_is_told_with_its_last_line(tmp_path: Path) -> None:
    document = settings_document(tmp_path, start_fault="exit")
    with pytest.raises(
        EngineError,
        match=r"exit status 1\); its last line: fake: a fault at start was asked for; slowest: \w+",
    ):
        async with local_replica(document):
            pass


async def test_a_busy_traffic_port_is_told(tmp_path: Path) -> None:
    document = settings_document(tmp_path)
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()
        document["traffic"]["port"] = squatter.getsockname()[1]
        with pytest.raises(
            ListenError, match=r"cannot listen on 127\.0\.0\.1:\d+: Address already"
        ):
            async with local_replica(document):
                pass


async def test_a_stop_while_starting_ends_in_order(tmp_path: Path) -> None:
    document = settings_document(tmp_path, load_s=30)
    async with local_replica(document, until=ReplicaState.LOADING) as replica:
        replica.service.stop()
        await asyncio.wait_for(replica.task, 10)
        assert replica.service.state is ReplicaState.DRAINING
        assert replica.ledger()["failure"] == "told to stop before it was ready"


@pytest.mark.parametrize("listener", ["probes", "traffic"])
async def test_a_stop_while_a_listener_opens_closes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listener: str
) -> None:
    document = settings_document(tmp_path)
    document["traffic"]["port"] = port = free_port()
    served, opening = Listener.serve, asyncio.Event()

    async def never_done(self: Listener, listening: socket.socket) -> None:
        probes = listening.family == socket.AF_UNIX
        traffic = not probes and listening.getsockname()[1] == port
        await served(self, listening)
        if probes if listener == "probes" else traffic:
            opening.set()
            await asyncio.Event().wait()

    monkeypatch.setattr(Listener, "serve", never_done)
    async with local_replica(document, until=ReplicaState.WARMING) as replica:
        await asyncio.wait_for(opening.wait(), 20)
        replica.service.stop()
        await asyncio.wait_for(asyncio.shield(replica.task), 10)
        assert replica.ledger()["failure"] == "told to stop before it was ready"
        assert not await accepts(port)


def test_sigterm_ends_the_process_and_its_engine(tmp_path: Path) -> None:
    with replica_process(tmp_path, settings_document(tmp_path)) as replica:
        replica.wait_ready()
        _, engine = replica.engine()
        assert replica.stop() == 0
        assert not _alive(engine)
        assert "event=drained cut=0" in replica.log()
        assert "Traceback" not in replica.log()


async def test_an_engine_does_not_outlive_a_killed_service(tmp_path: Path) -> None:
    with replica_process(tmp_path, settings_document(tmp_path)) as replica:
        replica.wait_ready()
        _, engine = replica.engine()
        assert replica.stop(signal.SIGKILL) == -signal.SIGKILL
        await eventually(lambda: not _alive(engine), "the engine's end")


def test_a_failed_start_is_one_line_and_a_status(tmp_path: Path) -> None:
    document = settings_document(tmp_path, start_fault="exit")
    with replica_process(tmp_path, document) as replica:
        assert replica.process.wait(timeout=30) == 1
        assert "Traceback" not in replica.log()
        assert (
            replica.log()
            .splitlines()[-1]
            .startswith(
                "level=ERROR logger=inference_app.run event=failed reason='the engine ended"
            )
        )


def test_wrong_settings_are_one_line_and_another_status(tmp_path: Path) -> None:
    document = settings_document(tmp_path)
    document["engine"]["kind"] = "magic"
    with replica_process(tmp_path, document) as replica:
        assert replica.process.wait(timeout=30) == 2
        (line,) = replica.log().splitlines()
        assert "engine.kind" in line
        assert "event=settings_wrong" in line


@pytest.mark.parametrize(
    ("weights", "reason"), [("none.gguf", "No such file"), (".", "Is a directory")]
)
def test_weights_that_are_not_there_are_one_line_and_tried_again(
    tmp_path: Path, weights: str, reason: str
) -> None:
    document = settings_document(tmp_path)
    document["engine"]["kind"] = "llamacpp"
    document["model"]["path"] = path = str(tmp_path / weights)
    with replica_process(tmp_path, document) as replica:
        # Not the status of wrong settings: their disk may be mounted a little later.
        assert replica.process.wait(timeout=30) == 1
        last = replica.log().splitlines()[-1]
        assert "event=failed" in last
        assert f"model.path {path}: {reason}" in last
        assert "Traceback" not in replica.log()
    (ledger,) = (tmp_path / "state" / "ledger").glob("*.json")
    assert f'"failure": "model.path {path}: {reason}' in ledger.read_text()


async def _raw(replica: LocalReplica, body: dict[str, object]) -> tuple[int, bytes]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(replica.chat_url, json=body) as response,
    ):
        return response.status, await response.read()


async def _stream(replica: LocalReplica, body: dict[str, object]) -> list[dict[str, Any] | str]:
    status, answer = await _raw(replica, body)
    assert status == 200, answer
    return events_of(answer)


def _received(manager: socket.socket) -> str:
    messages = []
    with contextlib.suppress(BlockingIOError):
        while True:
            messages.append(manager.recv(4096).decode())
    return "\n".join(messages)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
