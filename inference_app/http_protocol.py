"""HTTP on one connection: errors in OpenAI's form, and a bound on the wait for a head."""

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from inference_app.api_errors import ApiError

__all__ = ["HttpProtocol"]

_HEAD_S: Final = 15.0  # for the request line and the headers; a gateway sends them in one packet


class HttpProtocol(H11Protocol):
    """Serves one connection.

    uvicorn alone waits for ever for the rest of a request's head, and answers what is no HTTP
    with plain text.
    """

    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Give the first request's head its time."""
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_awaiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; where they begin a head and do not end it, give it its time."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_awaiting()
        elif self._head_timer is None:
            self._await_head()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP request, unless an answer has begun, and hang up."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            body = ApiError(400, f"{msg} Needed: HTTP/1.1.", code="bad_request").body()
            headers = [
                ("content-type", "application/json"),
                ("content-length", str(len(body))),
                ("connection", "close"),
            ]
            for event in (
                h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(_HEAD_S, self.transport.close)

    def _stop_awaiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
