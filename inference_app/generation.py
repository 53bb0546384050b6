"""The data path of one request: engine to client, with its deadline, its cancel and its errors.

A streaming client gets the engine's bytes (``relay``). A client that does not stream gets the same
stream, assembled; what an engine answers in one piece gets through in one piece. Nothing is sent
before the engine's first event, so that a proxy may still try another replica.
"""

import asyncio
import contextlib
import json
import logging
import re
import time
from typing import Any, Final

import aiohttp
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from inference_app.admission import Ticket
from inference_app.api_errors import ApiError, engine_error, engine_lost
from inference_app.assembly import Assembly
from inference_app.data_path import DataPath
from inference_app.engine_client import EngineReply
from inference_app.gate_headers import TIME_LIMIT_HEADER
from inference_app.generation_request import GenerationRequest
from inference_app.legacy_logprobs import LegacyLogprobs
from inference_app.metrics import Outcome
from inference_app.relay import OPENAI_ERROR, Relay, chunk_of
from inference_app.sse import DONE, EventBuffer, data_of, split_events
from inference_app.usage import UsageTally

__all__ = ["GenerationResponse"]

_logger = logging.getLogger(__name__)
_OK: Final = 200
_LAST_WORDS_S: Final = 1.0  # a client that does not read must not hold the slot
_PROMPT_TOKENS: Final = re.compile(rb'"prompt_tokens":\s*(\d{1,15})')


class GenerationResponse(Response):
    """Runs one generation as an ASGI response and gives back the ticket in the end.

    Args:
        request: what is asked.
        ticket: the right to be here.
        work: what it goes through.
        until: when its own time limit ends, on ``time.monotonic``; None without one.
    """

    def __init__(
        self, request: GenerationRequest, ticket: Ticket, work: DataPath, *, until: float | None
    ) -> None:
        super().__init__()
        self._request = request
        self._ticket = ticket
        self._admission = work.admission
        self._engine = work.engine
        self._metrics = work.metrics
        self._quarantine = work.quarantine
        self._generation_s = work.settings.timeouts.generation_s
        self._until = until
        self._usage = UsageTally(request.choices)
        self._started = time.monotonic()
        self._first_event_s: float | None = None
        self._events = 0  # each is about a token
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
        if outcome is not Outcome.COMPLETED:
            self._metrics.wasted(self._events)
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
                reason = self._ticket.cut.result()
                await self._last_words(reason)
                return Outcome.OVERLOADED if reason.too_many else Outcome.CUT
            return Outcome.CANCELLED
        finally:
            await _cancel(gone)
            await _cancel(work)

    async def _generate(self) -> Outcome:
        try:
            async with asyncio.timeout(self._left_s()) as own, self._admission.slot(self._ticket):
                # This clock starts with the slot: the timeout chain counts the wait for one apart.
                async with asyncio.timeout(self._generation_s):
                    await self._ask_engine()
        except aiohttp.ClientError as error:  # first: its timeouts are TimeoutErrors too
            return await self._lose_engine(error)
        except TimeoutError:
            await self._last_words(_own_limit() if own.expired() else _too_long(self._generation_s))
            return Outcome.TIMED_OUT
        except OSError as error:
            return await self._lose_engine(error)
        except ApiError as error:
            await self._last_words(error)
            return Outcome.ENGINE_FAILED if error.ours else Outcome.REFUSED
        return Outcome.COMPLETED

    async def _ask_engine(self) -> None:
        path, body = self._request.endpoint.path, self._request.body
        with self._quarantine.inside(self._request.fingerprint):
            async with self._engine.send(path, body) as reply:
                if reply.status != _OK:
                    field = self._request.endpoint.prompt
                    raise engine_error(reply.status, await reply.error_body(), prompt=field)
                if self._request.endpoint.assembly is None:
                    await self._pass_on(reply)
                elif self._request.stream:
                    await self._relay(reply)
                else:
                    await self._assemble(reply, self._request.endpoint.assembly(self._usage))

    def _left_s(self) -> float | None:
        return None if self._until is None else max(self._until - time.monotonic(), 0.0)

    async def _lose_engine(self, error: Exception) -> Outcome:
        _logger.warning("event=engine_lost error=%s", type(error).__name__)
        await self._last_words(engine_lost())
        return Outcome.ENGINE_FAILED

    async def _relay(self, reply: EngineReply) -> None:
        buffer, relay = EventBuffer(), Relay(self._request, self._usage)
        done = False
        async for chunk in reply.chunks():
            block = buffer.feed(chunk)
            if self._first_event_s is None:
                # What comes before the first token is no reason to send the header.
                block = b"".join(event for event in split_events(block) if _is_answer(event))
            if not block:
                continue
            self._note_first_event()
            self._events += block.count(b"\n\n")
            block, done = relay.pass_on(block)
            if block:
                await self._send_stream(block, more=not done)
            if done:
                self._count_tokens()
                return
        raise engine_lost()

    async def _assemble(self, reply: EngineReply, assembly: Assembly) -> None:
        buffer = EventBuffer()
        legacy = LegacyLogprobs() if self._request.legacy_logprobs else None
        async for chunk in reply.chunks():
            for event in split_events(buffer.feed(chunk)):
                data = data_of(event)
                if data is None or (self._first_event_s is None and not _is_answer(event)):
                    continue
                self._note_first_event()
                self._events += 1
                if data == DONE:
                    await self._send_completion(assembly)
                    return
                if OPENAI_ERROR in event:
                    raise engine_error(500, data)
                part = chunk_of(data)
                if legacy is not None:
                    legacy.rewrite(part)
                assembly.add(part)
        raise engine_lost()

    async def _send_completion(self, assembly: Assembly) -> None:
        try:
            body = json.dumps(assembly.completion()).encode()
        except ValueError as error:
            raise engine_lost() from error
        self._count_tokens()
        await self._send_whole(200, body, {})

    async def _pass_on(self, reply: EngineReply) -> None:
        body = await reply.whole()
        self._note_first_event()
        self._usage.add({"usage": _usage_in(body)})
        self._count_tokens()
        await self._send_whole(200, body, {})

    def _count_tokens(self) -> None:
        usage = self._usage.total()
        if usage is not None:
            self._metrics.tokens(usage)

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


def _is_answer(event: bytes) -> bool:
    """Tell an event of the answer from a comment, and from the progress of its prompt."""
    return data_of(event) is not None and b'"prompt_progress":' not in event


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _cancel(task: asyncio.Future[Any]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _usage_in(body: bytes) -> dict[str, int]:
    # Vectors are long and are not read: one number beside them is wanted.
    found = _PROMPT_TOKENS.search(body)
    return {} if found is None else {"prompt_tokens": int(found[1])}


def _own_limit() -> ApiError:
    return ApiError(
        504,
        f"the request's own time limit ({TIME_LIMIT_HEADER}) ran out",
        kind="server_error",
        code="deadline_exceeded",
        retry=False,
    )


def _too_long(limit_s: float) -> ApiError:
    return ApiError(
        504,
        f"the generation took longer than {limit_s:g} s",
        kind="server_error",
        code="generation_timeout",
    )
