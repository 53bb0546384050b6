"""Requests for the engine: read, check, admit; the rest is the data path's."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Final, cast

from fastapi import APIRouter, Request, Response
from starlette.requests import ClientDisconnect

from inference_app.api_errors import ApiError
from inference_app.context_check import check_context
from inference_app.data_path import DataPath
from inference_app.endpoints import ENDPOINTS, Endpoint
from inference_app.gate_headers import KEY_HEADER, TIME_LIMIT_HEADER
from inference_app.generation import GenerationResponse
from inference_app.generation_request import GenerationRequest
from inference_app.metrics import Outcome

__all__ = ["router"]

router = APIRouter()
_BODY_S: Final = 30.0  # a slow body holds a place, and the gateway sends bodies whole
_LONGEST_NAME: Final = 128


def _route(endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return await _answer(request, endpoint)

    return answer


async def _answer(request: Request, endpoint: Endpoint) -> Response:
    """Admit one request and answer with its generation."""
    path = cast(DataPath, request.app.state.data_path)
    admission, metrics = path.admission, path.metrics
    started = time.monotonic()
    try:
        # Before the body is read: bodies of refused requests cost too.
        ticket = admission.enter(request.headers.get(KEY_HEADER, "")[:_LONGEST_NAME])
    except ApiError as error:
        outcome = Outcome.OVERLOADED if error.retry_after_s is not None else Outcome.CUT
        metrics.request_ended(outcome, time.monotonic() - started)
        raise
    try:
        limit_s = _time_limit(request.headers.get(TIME_LIMIT_HEADER))
        raw = await _read_body(request, path.settings.limits.max_body_bytes)
        asked = GenerationRequest.parse(
            raw,
            endpoint,
            model=path.settings.model.name,
            limits=path.settings.limits,
            engine_fields=path.engine_fields,
        )
        path.quarantine.check(asked.fingerprint)
        if admission.busy:  # else the engine itself says at once what is too long
            await _check_wait(asked, path, ticket.key, limit_s)
    except BaseException as error:
        admission.leave(ticket)
        metrics.request_ended(_outcome(error), time.monotonic() - started)
        if isinstance(error, ClientDisconnect):
            return Response(status_code=400)  # nobody reads it
        raise
    until = None if limit_s is None else started + limit_s
    return GenerationResponse(asked, ticket, path, until=until)


async def _check_wait(
    asked: GenerationRequest, path: DataPath, key: str, limit_s: float | None
) -> None:
    """Refuse now what would be refused after a wait."""
    waits_s = path.admission.forecast_s(key)
    if limit_s is not None and waits_s > limit_s:
        raise path.admission.too_late(key, waits_s, limit_s)
    with path.quarantine.inside(asked.fingerprint):
        await check_context(asked, path.engine, path.settings.engine.context_tokens)


def _outcome(error: BaseException) -> Outcome:
    if not isinstance(error, ApiError):
        return Outcome.CANCELLED
    if error.ours:
        return Outcome.ENGINE_FAILED
    return Outcome.OVERLOADED if error.too_many else Outcome.REFUSED


def _time_limit(written: str | None) -> float | None:
    if written is None:
        return None
    try:
        limit_s = float(written)
    except ValueError:
        limit_s = math.nan
    if not 0 < limit_s < math.inf:
        raise ApiError(
            400,
            f"{TIME_LIMIT_HEADER}: found {written[:40]!r}; needed seconds, more than 0",
            code="bad_time_limit",
        )
    return limit_s


async def _read_body(request: Request, limit: int) -> bytes:
    too_large = ApiError(413, f"the body is larger than {limit} bytes", code="body_too_large")
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > limit:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(_BODY_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise too_large
    except TimeoutError as error:
        message = f"the body did not arrive within {_BODY_S:g} s"
        raise ApiError(408, message, code="request_timeout") from error
    return bytes(body)


# Plain routes: FastAPI's own would solve dependencies and wrap the answer, which was a third of
# the time that a request spends in the application.
for _endpoint in ENDPOINTS:
    router.add_route(_endpoint.path, _route(_endpoint), methods=["POST"])
