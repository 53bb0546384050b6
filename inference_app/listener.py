"""One uvicorn server on one socket that is bound exactly when we say so."""

import asyncio
import contextlib
import math
import socket
import ssl
from collections.abc import Generator
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from inference_app.errors import ListenError
from inference_app.http_protocol import HttpProtocol
from inference_app.settings import AddressSettings

__all__ = ["Listener"]

_BACKLOG: Final = 2048
_TICK_S: Final = 0.01


class Listener:
    """Serves an application from ``open`` to ``close``.

    Args:
        app: the ASGI application.
        keep_alive_s: how long an idle connection is kept.
        grace_s: how long ``close`` lets requests run before it cancels them.
        tls: of the server; None for plain HTTP.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        keep_alive_s: float,
        grace_s: float,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        config = uvicorn.Config(
            app,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            http=HttpProtocol,
            ws="none",
            backlog=_BACKLOG,
            timeout_keep_alive=math.ceil(keep_alive_s),
            timeout_graceful_shutdown=math.ceil(grace_s),
            ssl_context_factory=None if tls is None else lambda *_: tls,
        )
        self._server = _Server(config)
        self._serving: asyncio.Task[None] | None = None
        self._socket: socket.socket | None = None

    @property
    def port(self) -> int:
        """The bound TCP port."""
        if self._socket is None:
            msg = "the listener is not open"
            raise RuntimeError(msg)
        return int(self._socket.getsockname()[1])

    async def open(self, address: AddressSettings) -> None:
        """Bind and accept.

        Raises:
            ListenError: the address is taken or not of this host.
        """
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        # asyncio turns Nagle's algorithm off only where the protocol is named. With it on, a first
        # event waits until the client acknowledges the header: 40 ms on a used connection.
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind((address.host, address.port))
        except OSError as error:
            listening.close()
            msg = f"cannot listen on {address.host}:{address.port}: {error.strerror}"
            raise ListenError(msg) from error
        await self.serve(listening)

    async def serve(self, listening: socket.socket) -> None:
        """Accept on a bound socket, which is closed in the end."""
        listening.setblocking(False)
        self._socket = listening
        self._serving = asyncio.create_task(self._server.serve([listening]))
        while not self._server.started and not self._serving.done():  # noqa: ASYNC110 - uvicorn has no Event
            await asyncio.sleep(_TICK_S)

    def stop_accepting(self) -> None:
        """Close the listening socket and idle connections; requests in flight go on."""
        self._server.should_exit = True

    async def closed(self) -> None:
        """Wait until the last request has ended (``stop_accepting`` comes first)."""
        if self._serving is not None:
            await asyncio.shield(self._serving)


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        # Two servers and the drain share one process: the service owns the signals.
        yield
