"""Probes the service through its own application, before its port is bound.

The application listens on a Unix socket that only this user can connect to, so a probe runs the
code that the first user's request will run, the engine included.
"""

import contextlib
import json
import os
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import aiohttp

from inference_app.api_errors import engine_error
from inference_app.errors import ListenError, WarmupFailedError
from inference_app.listener import Listener
from inference_app.prompts import PromptMaker
from inference_app.settings import WarmupShape
from inference_app.warmup import Sample

__all__ = ["Prober"]

_FIRST_FORWARD: Final = WarmupShape(prompt_tokens=24, output_tokens=1, stream=True)
# A broken engine makes any of these, by what it says or by going away.
_NONSENSE: Final = (
    aiohttp.ClientError,
    AttributeError,
    LookupError,
    OSError,
    TypeError,
    ValueError,
)
_LONGEST_PATH: Final = 107  # bytes that the kernel takes for the path of a Unix socket


class Prober:
    """Sends probes; use as an async context manager.

    Args:
        listener: serves the traffic application.
        folder: writable; the socket is there while probes are sent.
        model: the served name.
        fields: what the engine's launcher adds to a probe.
    """

    def __init__(
        self, listener: Listener, folder: Path, model: str, fields: Mapping[str, object]
    ) -> None:
        self._listener = listener
        self._folder = folder
        self._model = model
        self._fields = fields
        self._prompts = PromptMaker(seed=time.time_ns())
        self._session: aiohttp.ClientSession
        self._resources: contextlib.AsyncExitStack

    async def __aenter__(self) -> Self:
        async with contextlib.AsyncExitStack() as resources:
            path = resources.enter_context(_socket_path(self._folder))
            listening = _bind(path)
            resources.callback(self._listener.stop_accepting)  # its owner waits for the end
            await self._listener.serve(listening)
            self._session = await resources.enter_async_context(
                aiohttp.ClientSession(
                    connector=aiohttp.UnixConnector(str(path), limit=0, force_close=True),
                    timeout=aiohttp.ClientTimeout(total=None),
                )
            )
            self._resources = resources.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._resources.aclose()

    async def first_forward(self) -> None:
        """Make the first completion, and learn from it what the chat template costs."""
        sample = await self.probe(_FIRST_FORWARD)
        self._prompts.learn(_FIRST_FORWARD.prompt_tokens, sample.prompt_tokens)

    async def probe(self, shape: WarmupShape) -> Sample:
        """Make one completion of a shape.

        Raises:
            WarmupFailedError: the service answered with an error, or with nonsense.
        """
        try:
            return await self._measure(shape)
        except _NONSENSE as error:
            msg = f"a probe failed: {type(error).__name__}: {' '.join(str(error).split())}"
            raise WarmupFailedError(msg) from error

    async def _measure(self, shape: WarmupShape) -> Sample:
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": self._prompts.prompt(shape.prompt_tokens)}],
            "max_tokens": shape.output_tokens,
            "stream": shape.stream,
            **({"stream_options": {"include_usage": True}} if shape.stream else {}),
            **self._fields,
        }
        started = time.monotonic()
        first_token_s: float | None = None
        answer = bytearray()
        async with self._session.post(
            "http://probe/v1/chat/completions", json=body, headers={"x-request-id": "warm-up"}
        ) as response:
            async for chunk in response.content.iter_any():
                if first_token_s is None:
                    first_token_s = time.monotonic() - started
                answer += chunk
            latency_s = time.monotonic() - started
            if not response.ok:
                msg = f"a probe failed: {engine_error(response.status, bytes(answer)).message}"
                raise WarmupFailedError(msg)
        return Sample(latency_s, first_token_s or latency_s, _prompt_tokens(bytes(answer), shape))


@contextlib.contextmanager
def _socket_path(folder: Path) -> Iterator[Path]:
    with contextlib.ExitStack() as resources:
        path = folder / "probe.sock"
        if len(os.fsencode(path)) > _LONGEST_PATH:
            path = Path(resources.enter_context(tempfile.TemporaryDirectory()), "probe.sock")
        path.unlink(missing_ok=True)  # what a killed start left
        resources.callback(path.unlink, missing_ok=True)
        yield path


def _bind(path: Path) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o077)  # connecting takes the right to write
    try:
        listening.bind(str(path))
    except OSError as error:
        listening.close()
        msg = f"cannot listen on {path}: {error.strerror or error}"
        raise ListenError(msg) from error
    finally:
        os.umask(mask)
    return listening


def _prompt_tokens(answer: bytes, shape: WarmupShape) -> int:
    documents = _documents(answer) if shape.stream else [json.loads(answer)]
    for document in documents:
        if "error" in document:
            msg = f"a probe failed in its stream: {document['error'].get('message')}"
            raise WarmupFailedError(msg)
        if document.get("usage"):
            return int(document["usage"]["prompt_tokens"])
    msg = "a probe was answered without usage; an engine must report it"
    raise WarmupFailedError(msg)


def _documents(answer: bytes) -> list[dict[str, Any]]:
    lines = [line[6:] for line in answer.splitlines() if line.startswith(b"data: {")]
    return [json.loads(line) for line in lines]
