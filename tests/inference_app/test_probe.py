"""The prober's own socket, and what it makes of answers."""

import asyncio
import contextlib
import stat
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send

from inference_app.errors import WarmupFailedError
from inference_app.listener import Listener
from inference_app.probe import Prober

_USAGE = b'data: {"usage": {"prompt_tokens": 24}}\n\n'


def _listener(body: bytes | None) -> Listener:
    async def answer(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body or b"data: ", "more_body": not body})

    return Listener(answer, keep_alive_s=5, grace_s=5)


@contextlib.asynccontextmanager
async def _prober(folder: Path, body: bytes | None = _USAGE) -> AsyncIterator[Prober]:
    listener = _listener(body)
    try:
        async with Prober(listener, folder, "chat", {}) as prober:
            yield prober
    finally:
        await asyncio.wait_for(listener.closed(), 10)


def _sockets(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_socket()]


@pytest.mark.parametrize("length", [1, 200])
async def test_only_this_user_reaches_the_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    short, folder = tmp_path / "t", tmp_path / ("x" * length)
    monkeypatch.setattr(tempfile, "tempdir", str(short))
    short.mkdir()
    folder.mkdir()
    async with _prober(folder) as prober:
        (path,) = _sockets(tmp_path)
        assert path.is_relative_to(folder if length == 1 else short)
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
        await prober.first_forward()
    assert not _sockets(tmp_path)
    assert not list(short.iterdir())


async def test_what_a_killed_start_left_is_replaced(tmp_path: Path) -> None:
    async with _prober(tmp_path):
        (path,) = _sockets(tmp_path)
    path.touch()
    async with _prober(tmp_path) as prober:
        await prober.first_forward()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (None, "ClientPayloadError: "),  # cut in the middle
        (b"data: {half\n\n", "JSONDecodeError: "),
        (b'data: {"usage": {"completion_tokens": 1}}\n\n', "KeyError: 'prompt_tokens'"),
        (b'data: {"usage": {"prompt_tokens": null}}\n\n', "TypeError: "),
        (b'data: {"usage": 3}\n\n', "TypeError: "),
        (b'data: {"error": "boom"}\n\n', "AttributeError: "),
        (b"data: \xff{}\n\n", "without usage"),
    ],
)
async def test_nonsense_is_a_failed_warm_up(
    tmp_path: Path, body: bytes | None, reason: str
) -> None:
    async with _prober(tmp_path, body) as prober:
        with pytest.raises(WarmupFailedError, match=f"a probe .*{reason}") as caught:
            await prober.first_forward()
    assert "\n" not in str(caught.value)


async def test_a_start_that_is_cancelled_leaves_no_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = Listener.serve

    async def never_done(self: Listener, listening: object) -> None:
        await served(self, listening)  # type: ignore[arg-type]
        await asyncio.Event().wait()

    monkeypatch.setattr(Listener, "serve", never_done)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5), _prober(tmp_path):
            pass
    assert not _sockets(tmp_path)
