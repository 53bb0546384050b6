"""A request that ends the engine does it once, on this host at least."""

import asyncio
import contextlib
import json
import os
import signal
from pathlib import Path
from unittest.mock import Mock

import aiohttp
import pytest

from inference_app.api_errors import ApiError
from inference_app.quarantine import Quarantine
from tests.inference_app.support import (
    chat_body,
    eventually,
    local_replica,
    replica_process,
    settings_document,
)


class _Clock:
    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def __call__(self) -> float:
        return self.seconds


def _refused(quarantine: Quarantine, name: str) -> bool:
    try:
        quarantine.check(name)
    except ApiError:
        return True
    return False


def _leaves(quarantine: Quarantine, name: str, error: BaseException) -> None:
    with contextlib.suppress(type(error)), quarantine.inside(name):
        raise error


def _died_with(quarantine: Quarantine, *names: str, by_itself: bool = True) -> None:
    for name in names:
        _leaves(quarantine, name, aiohttp.ServerDisconnectedError())
    quarantine.engine_died(by_itself=by_itself)


def test_the_refusal_is_not_sent_again_by_clients(tmp_path: Path) -> None:
    quarantine = Quarantine(tmp_path / "quarantine.json")
    _died_with(quarantine, "a")
    with pytest.raises(ApiError, match="ended the engine before") as caught:
        quarantine.check("a")
    assert (caught.value.status, caught.value.code) == (422, "request_quarantined")
    assert caught.value.headers() == {"x-should-retry": "false"}


def test_who_was_alone_is_guilty_also_after_a_restart_and_for_a_time(tmp_path: Path) -> None:
    clock, file = _Clock(), tmp_path / "state" / "quarantine.json"
    with (quarantine := Quarantine(file, clock=clock)).inside("a"):
        quarantine.engine_died(by_itself=True)
    assert not _refused(quarantine, "b")
    for known in (quarantine, Quarantine(file, clock=clock)):
        assert _refused(known, "a")
    clock.seconds += 3599  # of 3600
    with pytest.raises(ApiError, match="send it in 1 min"):
        quarantine.check("a")
    clock.seconds += 2
    assert not _refused(Quarantine(file, clock=clock), "a")


def test_of_several_only_who_is_there_again_is_guilty(tmp_path: Path) -> None:
    file = tmp_path / "quarantine.json"
    quarantine = Quarantine(file)
    _died_with(quarantine, "a", "b", "c")
    assert not any(_refused(quarantine, name) for name in "abc")
    _died_with(Quarantine(file), "a", "d")
    again = Quarantine(file)
    assert [_refused(again, name) for name in "abcd"] == [True, False, False, False]


def test_a_kill_from_outside_says_less(tmp_path: Path) -> None:
    quarantine = Quarantine(tmp_path / "quarantine.json")
    _died_with(quarantine, "a", by_itself=False)
    assert not _refused(quarantine, "a")
    _died_with(quarantine, "a", by_itself=False)
    assert _refused(quarantine, "a")


def test_a_lost_connection_alone_blames_nobody(tmp_path: Path) -> None:
    clock = _Clock()
    quarantine = Quarantine(tmp_path / "quarantine.json", clock=clock)
    _leaves(quarantine, "a", aiohttp.ServerDisconnectedError())
    clock.seconds += 11
    quarantine.engine_died(by_itself=True)
    assert not _refused(quarantine, "a")


@pytest.mark.parametrize(
    ("error", "suspect"),
    [
        (aiohttp.ServerDisconnectedError(), True),
        (aiohttp.ClientPayloadError(), True),
        (TimeoutError(), True),
        (asyncio.CancelledError(), True),  # its client left, or its time was over
        (ApiError(503, "the stream ended early"), True),
        (ApiError(400, "the engine refused it"), False),
        # The engine was gone before: of those that wait each comes to that.
        (aiohttp.ClientConnectorError(Mock(), ConnectionRefusedError()), False),
        (aiohttp.ClientOSError(104, "Connection reset by peer"), False),
    ],
)
def test_who_was_there_until_just_before_is_a_suspect_beside(
    tmp_path: Path, error: BaseException, suspect: bool
) -> None:
    quarantine = Quarantine(tmp_path / "quarantine.json")
    _leaves(quarantine, "left", error)
    with quarantine.inside("stayed"):
        quarantine.engine_died(by_itself=True)
    assert _refused(quarantine, "stayed") is not suspect
    _leaves(quarantine, "left", error)
    quarantine.engine_died(by_itself=False)
    assert _refused(quarantine, "left") is suspect


def test_it_holds_a_bounded_number(tmp_path: Path) -> None:
    file = tmp_path / "quarantine.json"
    quarantine = Quarantine(file)
    for number in range(300):
        _died_with(quarantine, f"request-{number}")
        quarantine._lost.clear()
    assert len(json.loads(file.read_text())) == 256
    assert _refused(quarantine, "request-299")
    assert not _refused(quarantine, "request-1")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', '{"a": [1, "x"]}', "null"])
def test_a_damaged_file_is_no_reason_not_to_start(tmp_path: Path, text: str) -> None:
    file = tmp_path / "quarantine.json"
    file.write_text(text)
    assert not _refused(Quarantine(file), "a")


def test_a_full_disk_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    quarantine = Quarantine(tmp_path / "file" / "quarantine.json")
    _died_with(quarantine, "a")
    assert _refused(quarantine, "a")


async def test_a_request_that_ends_the_engine_is_not_served_by_the_next_one(tmp_path: Path) -> None:
    deadly = chat_body(messages=[{"role": "user", "content": "please DIE-HERE now"}])
    for turn in range(2):
        with replica_process(tmp_path, settings_document(tmp_path, die_on="DIE-HERE")) as replica:
            replica.wait_ready()
            async with aiohttp.ClientSession() as session:
                async with session.post(replica.chat_url, json=deadly) as response:
                    error = (await response.json())["error"]
                    assert (response.status, error["code"]) == [
                        (503, "engine_lost"),
                        (422, "request_quarantined"),
                    ][turn]
                if turn == 1:  # what differs is served, and the engine lives
                    other = chat_body(max_tokens=2)
                    async with session.post(replica.chat_url, json=other) as response:
                        assert response.status == 200
                    assert replica.stop() == 0
                else:
                    assert replica.process.wait(timeout=30) == 1
    assert "DIE-HERE" not in (tmp_path / "state" / "quarantine.json").read_text()


async def test_who_waits_is_not_blamed(tmp_path: Path) -> None:
    options: dict[str, object] = {"die_on": "DIE-HERE", "fault_after_tokens": 60}
    document = settings_document(tmp_path, tokens_per_s=20.0, **options)
    document["engine"]["slots"] = 1
    async with local_replica(document) as replica, aiohttp.ClientSession() as session:

        async def ask(text: str) -> int:
            body = chat_body(messages=[{"role": "user", "content": text}])
            async with session.post(replica.chat_url, json=body) as response:
                return response.status

        deadly = asyncio.create_task(ask("DIE-HERE"))
        await eventually(lambda: not replica.service._admission._slots.free, "it is in the engine")
        others = [asyncio.create_task(ask(f"word {number}")) for number in range(3)]
        await eventually(lambda: replica.service._admission.waiting == 3, "three wait")
        assert await asyncio.gather(deadly, *others) == [503] * 4
        await asyncio.gather(replica.task, return_exceptions=True)
    assert _blame(tmp_path) == [2]


async def test_who_is_worked_on_is_not_guilty_of_another_that_is_counted(tmp_path: Path) -> None:
    document = settings_document(tmp_path, tokens_per_s=5.0, die_on="DIE-HERE")
    document["engine"]["slots"] = 1
    document["warmup"]["shapes"] = [{"prompt_tokens": 9, "output_tokens": 1}]
    async with local_replica(document) as replica, aiohttp.ClientSession() as session:
        body = chat_body(max_tokens=60, stream=True)
        async with session.post(replica.chat_url, json=body) as response:
            await response.content.readany()
            long = [{"role": "user", "content": "DIE-HERE " + "word " * 200}]
            async with session.post(replica.chat_url, json=chat_body(messages=long)) as counted:
                assert (counted.status, (await counted.json())["error"]["code"]) == (
                    503,
                    "engine_lost",
                )
            assert b"engine_lost" in await response.read()
        await asyncio.gather(replica.task, return_exceptions=True)
    assert _blame(tmp_path) == [1, 1]


def _blame(folder: Path) -> list[int]:
    kept = json.loads((folder / "state" / "quarantine.json").read_text())
    return [blame for blame, _ in kept.values()]


async def test_an_engine_killed_by_an_operator_blames_nobody_at_once(tmp_path: Path) -> None:
    document = settings_document(tmp_path, tokens_per_s=5.0)
    document["warmup"]["shapes"] = [{"prompt_tokens": 9, "output_tokens": 1}]
    with replica_process(tmp_path, document) as replica:
        replica.wait_ready()
        _, engine = replica.engine()
        async with aiohttp.ClientSession() as session:
            body = chat_body(max_tokens=60, stream=True)
            async with session.post(replica.chat_url, json=body) as response:
                await response.content.readany()
                os.kill(engine, signal.SIGKILL)
                assert b"engine_lost" in await response.read()
        assert replica.process.wait(timeout=30) == 1
    assert _blame(tmp_path) == [1]
