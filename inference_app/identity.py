"""Names the replica and the request on every answer."""

import re
import uuid
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["IdentityMiddleware"]

_ACCEPTED: Final = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")


class IdentityMiddleware:
    """Adds ``X-Warmfleet-Replica`` and ``X-Request-Id``, the caller's where it sent a sane one."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app = app
        self._host = host.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection scope."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = dict(scope["headers"]).get(b"x-request-id", b"")
        request_id = given if _ACCEPTED.fullmatch(given) else uuid.uuid4().hex.encode()
        scope["warmfleet.request_id"] = request_id.decode()

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                names = [(b"x-warmfleet-replica", self._host), (b"x-request-id", request_id)]
                message["headers"] = [*message.get("headers", []), *names]
            await send(message)

        await self._app(scope, receive, send_named)
