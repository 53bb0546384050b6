"""The fake engine: a controllable stand-in for tests and measurements, never for users.

It speaks what llama.cpp's server speaks, as far as the service uses it, with deterministic tokens,
a compile delay for each new shape, a speed and faults. Everything is set by ``engine.options``;
``FakeOptions`` is the reference. Run as a module it is the child.
"""

import asyncio
import hashlib
import json
import logging
import os
import sys
from collections.abc import Mapping
from typing import Any, Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field

from inference_app.engines.base import Progress, progress_of_json
from inference_app.engines.child_output import report
from inference_app.settings import ServiceSettings

__all__ = ["FakeEngine", "FakeLauncher", "FakeOptions"]

_WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty")


class FakeOptions(BaseModel):
    """Speed and faults; times in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    load_s: float = Field(default=0.0, description="between the phases weights and engine_init")
    first_token_s: float = Field(default=0.0, description="of every request")
    tokens_per_s: float = Field(default=2000.0, gt=0)
    compile_s: float = Field(
        default=0.0, description="once for each new power of two of prompt tokens"
    )
    start_fault: Literal["", "exit", "hang"] = ""
    die_on: str = Field(default="", description="a prompt that contains this ends the process")
    fail_on: str = Field(default="", description="a prompt that contains this is answered 500")
    fault_after_tokens: int = Field(default=0, description="tokens sent before die_on or fail_on")


class FakeLauncher:
    """Starts the fake engine."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings

    @property
    def probe_fields(self) -> Mapping[str, object]:
        """The same fields as llama.cpp's, which the fake does not need."""
        return {"cache_prompt": False, "ignore_eos": True}

    def command(self) -> list[str]:
        """Return the child's argv."""
        engine = self._settings.engine
        arguments = {
            "model": self._settings.model.name,
            "context_tokens": engine.context_tokens,
            "slots": engine.slots,
            "options": FakeOptions.model_validate(engine.options).model_dump(),
            "bytes": self._settings.model.size_bytes,
        }
        return [sys.executable, "-m", "inference_app.engines.fake", json.dumps(arguments)]

    def progress(self, line: str) -> Progress | None:
        """Read the child's progress lines."""
        return progress_of_json(line)


class FakeEngine:
    """The HTTP side; ``/fake/stats`` counts what became of the requests."""

    def __init__(self, model: str, context_tokens: int, slots: int, options: FakeOptions) -> None:
        self._model = model
        self._context_tokens = context_tokens
        self._options = options
        self._slots = asyncio.Semaphore(slots)
        self._compiled: set[int] = set()
        self._compiling = asyncio.Lock()
        self._stats = {"started": 0, "completed": 0, "cancelled": 0, "tokens": 0}

    def application(self) -> web.Application:
        """Return the routes."""
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_get("/health", self._health)
        app.router.add_get("/fake/stats", self._show_stats)
        app.router.add_post("/v1/chat/completions", self._chat)
        return app

    async def _health(self, _request: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def _show_stats(self, _request: web.Request) -> web.Response:
        return web.json_response(self._stats)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        fields = await request.json()
        prompt = " ".join(str(message.get("content")) for message in fields["messages"])
        prompt_tokens = len(prompt.split())
        if prompt_tokens > self._context_tokens:
            reason = (
                f"request ({prompt_tokens} tokens) exceeds the available context size "
                f"({self._context_tokens} tokens)"
            )
            return _error(400, reason, "exceed_context_size_error")
        self._stats["started"] += 1
        try:
            async with self._slots:
                return await self._generate(request, fields, prompt, prompt_tokens)
        except (asyncio.CancelledError, ConnectionError):
            self._stats["cancelled"] += 1
            raise

    async def _generate(
        self, request: web.Request, fields: dict[str, Any], prompt: str, prompt_tokens: int
    ) -> web.StreamResponse:
        await self._compile(prompt_tokens)
        await asyncio.sleep(self._options.first_token_s)
        fault = self._fault(prompt)
        if fault == "fail" and self._options.fault_after_tokens == 0:
            return _error(500, "a fault was asked for", "server_error")
        if fault == "die" and self._options.fault_after_tokens == 0:
            os._exit(70)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        events = _Events(response, self._model, prompt)
        length = int(fields["max_tokens"])
        for index, word in enumerate(_tokens(prompt, length)):
            if fault and index == self._options.fault_after_tokens:
                if fault == "die":
                    os._exit(70)
                await events.send({"error": {"code": 500, "message": "a fault was asked for"}})
                return response
            await events.send_delta({"content": word})
            self._stats["tokens"] += 1
            await asyncio.sleep(1 / self._options.tokens_per_s)
        await events.send_delta({}, finish_reason="length")
        usage = {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": length,
            "total_tokens": prompt_tokens + length,
        }
        await events.send_chunk({"choices": [], "usage": usage})
        await response.write(b"data: [DONE]\n\n")
        self._stats["completed"] += 1
        return response

    async def _compile(self, prompt_tokens: int) -> None:
        shape = max(prompt_tokens - 1, 0).bit_length()
        async with self._compiling:
            if shape not in self._compiled:
                await asyncio.sleep(self._options.compile_s)
                self._compiled.add(shape)

    def _fault(self, prompt: str) -> str:
        if self._options.die_on and self._options.die_on in prompt:
            return "die"
        return "fail" if self._options.fail_on and self._options.fail_on in prompt else ""


class _Events:
    """Writes chunks of one completion."""

    def __init__(self, response: web.StreamResponse, model: str, prompt: str) -> None:
        self._response = response
        digest = hashlib.sha256(prompt.encode()).hexdigest()
        self._head = {
            "id": f"chatcmpl-{digest[:24]}",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": model,
        }

    async def send_delta(self, delta: dict[str, str], finish_reason: str | None = None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
        await self.send_chunk({"choices": [choice]})

    async def send_chunk(self, fields: dict[str, Any]) -> None:
        await self.send({**self._head, **fields})

    async def send(self, document: dict[str, Any]) -> None:
        await self._response.write(b"data: " + json.dumps(document).encode() + b"\n\n")


def _tokens(prompt: str, length: int) -> list[str]:
    digest = hashlib.sha256(prompt.encode()).digest()
    return [_WORDS[(digest[i % len(digest)] + i) % len(_WORDS)] + " " for i in range(length)]


def _error(status: int, message: str, kind: str) -> web.Response:
    error = {"code": status, "message": message, "type": kind}
    return web.json_response({"error": error}, status=status)


async def _serve(arguments: dict[str, Any]) -> None:
    options = FakeOptions.model_validate(arguments["options"])
    report(phase="weights", bytes=arguments["bytes"])
    await asyncio.sleep(options.load_s)
    if options.start_fault == "exit":
        sys.stderr.write("fake: a fault at start was asked for\n")
        raise SystemExit(1)
    if options.start_fault == "hang":
        await asyncio.Event().wait()
    report(phase="engine_init")
    engine = FakeEngine(
        arguments["model"], arguments["context_tokens"], arguments["slots"], options
    )
    # Without handler_cancellation a client that goes away is noticed at the next token only.
    runner = web.AppRunner(engine.application(), handler_cancellation=True, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    report(address=f"http://127.0.0.1:{runner.addresses[0][1]}")
    await asyncio.Event().wait()


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(_serve(json.loads(sys.argv[1])))
