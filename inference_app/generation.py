"""The data path of one request: engine to client, with its deadline, its cancel and its errors.

A streaming client gets the engine's bytes, block by block; only blocks that hold the usage, the
end or an error are looked into. A client that does not stream gets the same stream, assembled.
Nothing is sent before the engine's first event, so that a proxy may still try another replica.
"""

import asyncio
import contextlib
import json
import logging
import time
from typing import Any, Final

import aiohttp
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from inference_app.admission import Admission, Ticket
from inference_app.api_errors import ApiError, engine_error
from inference_app.assembly import Assembly
from inference_app.chat_request import ChatRequest
from inference_app.engine_client import EngineClient, EngineReply
from inference_app.metrics import Outcome, ServiceMetrics
from inference_app.sse import DONE, EventBuffer, data_of, split_events

__all__ = ["GenerationResponse"]

_logger = logging.getLogger(__name__)
_OK: Final = 200
_LAST_WORDS_S: Final = 1.0  # a client that does not read must not hold the slot
_OPENAI_ERROR: Final = b'data: {"error"'


class GenerationResponse(Response):
    """Runs one generation as an ASGI response and gives back the ticket in the end."""

    def __init__(
        self,
        request: ChatRequest,
        ticket: Ticket,
        *,
        admission: Admission,
        engine: EngineClient,
        metrics: ServiceMetrics,
        generation_s: float,
    ) -> None:
        super().__init__()
        self._request = request
        self._ticket = ticket
        self._admission = admission
        self._engine = engine
        self._metrics = metrics
        self._generation_s = generation_s
        self._started = time.monotonic()
        self._first_event_s: float | None = None
        self._headers_sent = False
        self._send: Send

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the generation; returns when its answer has ended, for whatever reason."""
        self._send = send
        try:
            outcome = await self._run(receive)
        finally:
            self._admission.leave(self._ticket)
        seconds = time.monotonic() - self._started
        self._metrics.request_ended(outcome, seconds)
        _logger.info(
            "event=request id=%s outcome=%s stream=%s first_event_s=%s total_s=%.3f",
            scope.get("warmfleet.request_id", "-"),
            outcome,
            self._request.stream,
            "-" if self._first_event_s is None else f"{self._first_event_s:.3f}",
            seconds,
        )

    async def _run(self, receive: Receive) -> Outcome:
        work = asyncio.ensure_future(self._generate())
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            watched: set[asyncio.Future[Any]] = {work, gone, self._ticket.cut}
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            await _cancel(work)
            if self._ticket.cut.done():
                await self._last_words(self._ticket.cut.result())
                return Outcome.CUT
            return Outcome.CANCELLED
        finally:
            await _cancel(gone)
            await _cancel(work)

    async def _generate(self) -> Outcome:
        try:
            # The clock starts with the slot: the timeout chain counts the wait for one apart.
            async with (
                self._admission.slot(),
                asyncio.timeout(self._generation_s),
                self._engine.chat(self._request.body) as reply,
            ):
                if reply.status != _OK:
                    raise engine_error(reply.status, await reply.error_body())
                if self._request.stream:
                    await self._relay(reply)
                else:
                    await self._assemble(reply)
        except aiohttp.ClientError as error:  # first: its timeouts are TimeoutErrors too
            return await self._lose_engine(error)
        except TimeoutError:
            await self._last_words(
                ApiError(
                    504,
                    f"the generation took longer than {self._generation_s:g} s",
                    kind="server_error",
                    code="generation_timeout",
                )
            )
            return Outcome.TIMED_OUT
        except OSError as error:
            return await self._lose_engine(error)
        except ApiError as error:
            await self._last_words(error)
            return Outcome.ENGINE_FAILED if error.status >= 500 else Outcome.REFUSED
        return Outcome.COMPLETED

    async def _lose_engine(self, error: Exception) -> Outcome:
        _logger.warning("event=engine_lost error=%s", type(error).__name__)
        await self._last_words(_engine_lost())
        return Outcome.ENGINE_FAILED

    async def _relay(self, reply: EngineReply) -> None:
        buffer = EventBuffer()
        done = False
        async for chunk in reply.chunks():
            block = buffer.feed(chunk)
            if self._first_event_s is None:
                # A keep-alive comment before the first token is no reason to send the header.
                block = b"".join(event for event in split_events(block) if data_of(event))
            if not block:
                continue
            self._note_first_event()
            if b'"usage"' in block or DONE in block or _OPENAI_ERROR in block:
                block, done = self._inspect(block)
            if block:
                await self._send_stream(block, more=not done)
            if done:
                return
        raise _engine_lost()

    def _inspect(self, block: bytes) -> tuple[bytes, bool]:
        """Act on what a block holds; return what the client gets, and whether the stream ends.

        Raises:
            ApiError: the engine reports an error in the stream.
        """
        kept = bytearray()
        done = False
        for event in split_events(block):
            data = data_of(event)
            if data == DONE:
                done = True
            elif data is not None and _OPENAI_ERROR in event:
                raise engine_error(500, data)
            elif data is not None and b'"usage"' in data:
                event = self._take_usage(event, data)  # noqa: PLW2901
            kept += event
        return bytes(kept), done

    def _take_usage(self, event: bytes, data: bytes) -> bytes:
        chunk = _chunk(data)
        usage = chunk.get("usage")
        if not isinstance(usage, dict):
            return event
        self._metrics.tokens(usage)
        if self._request.include_usage:
            return event
        # The gate asked for usage, the client did not: it must not see a chunk without choices.
        if not chunk.get("choices"):
            return b""
        del chunk["usage"]
        return b"data: " + json.dumps(chunk).encode() + b"\n\n"

    async def _assemble(self, reply: EngineReply) -> None:
        buffer, assembly = EventBuffer(), Assembly()
        async for chunk in reply.chunks():
            for event in split_events(buffer.feed(chunk)):
                data = data_of(event)
                if data is None:
                    continue
                self._note_first_event()
                if data == DONE:
                    await self._send_completion(assembly)
                    return
                if _OPENAI_ERROR in event:
                    raise engine_error(500, data)
                assembly.add(_chunk(data))
        raise _engine_lost()

    async def _send_completion(self, assembly: Assembly) -> None:
        try:
            body = json.dumps(assembly.completion()).encode()
        except ValueError as error:
            raise _engine_lost() from error
        if assembly.usage is not None:
            self._metrics.tokens(assembly.usage)
        await self._send_whole(200, body, {})

    async def _last_words(self, error: ApiError) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LAST_WORDS_S):
                if self._headers_sent:
                    await self._send_stream(error.event(), more=False)
                else:
                    await self._send_whole(error.status, error.body(), error.headers())

    async def _send_stream(self, block: bytes, *, more: bool) -> None:
        if not self._headers_sent:
            self._headers_sent = True
            headers = [
                (b"content-type", b"text/event-stream; charset=utf-8"),
                (b"cache-control", b"no-cache"),
                (b"x-accel-buffering", b"no"),
            ]
            await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        await self._send({"type": "http.response.body", "body": block, "more_body": more})

    async def _send_whole(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self._headers_sent = True
        fields = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            **headers,
        }
        encoded = [(name.encode(), value.encode()) for name, value in fields.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})
        await self._send({"type": "http.response.body", "body": body})

    def _note_first_event(self) -> None:
        if self._first_event_s is None:
            self._first_event_s = time.monotonic() - self._started
            self._metrics.first_token(self._first_event_s)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cancel(task: asyncio.Future[Any]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _chunk(data: bytes) -> dict[str, Any]:
    try:
        chunk = json.loads(data)
    except ValueError:
        chunk = None
    if not isinstance(chunk, dict):
        raise engine_error(502, data)
    return chunk


def _engine_lost() -> ApiError:
    return ApiError(
        503,
        "the engine ended before its answer did; send the request again",
        kind="server_error",
        code="engine_lost",
    )
