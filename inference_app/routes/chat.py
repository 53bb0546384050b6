"""POST /v1/chat/completions: read, check, admit; the rest is the data path's."""

import asyncio
import time
from typing import Final, cast

from fastapi import APIRouter, Request, Response
from starlette.datastructures import State
from starlette.requests import ClientDisconnect

from inference_app.admission import Admission
from inference_app.api_errors import ApiError
from inference_app.chat_request import ChatRequest
from inference_app.engine_client import EngineClient
from inference_app.generation import GenerationResponse
from inference_app.metrics import Outcome, ServiceMetrics
from inference_app.settings import ServiceSettings

__all__ = ["router"]

router = APIRouter()
_TOO_MANY: Final = 429
_BODY_S: Final = 30.0  # a slow body holds a place, and the gateway sends bodies whole


async def create_chat_completion(request: Request) -> Response:
    """Admit one request and answer with its generation."""
    held: State = request.app.state
    settings, engine = cast(ServiceSettings, held.settings), cast(EngineClient, held.engine)
    admission, metrics = cast(Admission, held.admission), cast(ServiceMetrics, held.metrics)
    started = time.monotonic()
    try:
        ticket = admission.enter()  # before the body is read: bodies of refused requests cost too
    except ApiError as error:
        outcome = Outcome.OVERLOADED if error.status == _TOO_MANY else Outcome.CUT
        metrics.request_ended(outcome, time.monotonic() - started)
        raise
    try:
        raw = await _read_body(request, settings.limits.max_body_bytes)
        chat = ChatRequest.parse(raw, model=settings.model.name, limits=settings.limits)
    except BaseException as error:
        admission.leave(ticket)
        refused = isinstance(error, ApiError)
        outcome = Outcome.REFUSED if refused else Outcome.CANCELLED
        metrics.request_ended(outcome, time.monotonic() - started)
        if isinstance(error, ClientDisconnect):
            return Response(status_code=400)  # nobody reads it
        raise
    return GenerationResponse(
        chat,
        ticket,
        admission=admission,
        engine=engine,
        metrics=metrics,
        generation_s=settings.timeouts.generation_s,
    )


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


# A plain route: FastAPI's own would solve dependencies and wrap the answer, which was a third of
# the time that a request spends in the application.
router.add_route("/v1/chat/completions", create_chat_completion, methods=["POST"])
