"""Probes the service through its own application, before its port is bound.

The application listens on a Unix socket that only this process knows, so a probe runs the code that
the first user's request will run, the engine included.
"""

import json
import os
import socket
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

import aiohttp

from inference_app.api_errors import engine_error
from inference_app.errors import WarmupFailedError
from inference_app.listener import Listener
from inference_app.prompts import PromptMaker
from inference_app.settings import WarmupShape
from inference_app.warmup import Sample

__all__ = ["Prober"]

_FIRST_FORWARD: Final = WarmupShape(prompt_tokens=24, output_tokens=1, stream=True)


class Prober:
    """Sends probes; use as an async context manager.

    Args:
        listener: serves the traffic application.
        model: the served name.
        fields: what the engine's launcher adds to a probe.
    """

    def __init__(self, listener: Listener, model: str, fields: Mapping[str, object]) -> None:
        self._listener = listener
        self._model = model
        self._fields = fields
        self._prompts = PromptMaker(seed=time.time_ns())
        self._path = f"\0warmfleet-warmup-{os.getpid()}-{time.monotonic_ns()}"
        self._session: aiohttp.ClientSession

    async def __aenter__(self) -> Self:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(self._path)
        await self._listener.serve(listening)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.UnixConnector(self._path, limit=0, force_close=True),
            timeout=aiohttp.ClientTimeout(total=None),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.close()
        self._listener.stop_accepting()  # its owner waits for the end, when there is time

    async def first_forward(self) -> None:
        """Make the first completion, and learn from it what the chat template costs."""
        sample = await self.probe(_FIRST_FORWARD)
        self._prompts.learn(_FIRST_FORWARD.prompt_tokens, sample.prompt_tokens)

    async def probe(self, shape: WarmupShape) -> Sample:
        """Make one completion of a shape.

        Raises:
            WarmupFailedError: the service answered with an error.
        """
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
