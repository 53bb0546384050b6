"""The service's side of connections to the engine: plain aiohttp, one for each request."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import aiohttp

from inference_app.api_errors import engine_lost

__all__ = ["EngineClient", "EngineReply"]

_CONNECT_S: Final = 5.0
_ASK_S: Final = 5.0
_OK: Final = 200
_BASE: Final = "http://engine"  # any name: the connection goes to the socket
_ERROR_BODY_BYTES: Final = 64 * 1024


class EngineReply:
    """An answer whose body is still on its way."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        self.status = response.status

    async def error_body(self) -> bytes:
        """Return the body of a short answer, cut at 64 KiB."""
        return await self._response.content.read(_ERROR_BODY_BYTES)

    async def whole(self) -> bytes:
        """Return the body of an answer that comes in one piece."""
        return await self._response.read()

    def chunks(self) -> AsyncIterator[bytes]:
        """Return the body as it arrives."""
        return self._response.content.iter_any()


class EngineClient:
    """Asks one engine; use as an async context manager.

    Args:
        socket: the Unix socket that it listens on.
    """

    def __init__(self, socket: Path) -> None:
        # A connection is closed after each answer: engines close idle ones after seconds, and a
        # request sent on such a connection is lost. On a Unix socket a new one costs nothing.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.UnixConnector(str(socket), limit=0, force_close=True),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
            auto_decompress=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._session.close()

    async def healthy(self) -> bool:
        """Return whether the engine itself says that it is ready."""
        try:
            async with self._session.get(f"{_BASE}/health") as response:
                return response.ok
        except (aiohttp.ClientError, OSError):
            return False

    @contextlib.asynccontextmanager
    async def send(self, path: str, body: bytes) -> AsyncIterator[EngineReply]:
        """Send a request; leaving the block early closes the connection.

        That close is the cancel signal: an engine stops a streamed generation on it.
        """
        async with self._session.post(
            f"{_BASE}{path}",
            data=body,
            headers={"content-type": "application/json"},
        ) as response:
            yield EngineReply(response)

    async def ask(self, path: str, body: bytes) -> object:
        """Return an engine's short answer, None where it gives none within five seconds.

        Raises:
            ApiError: 503, it ended over it.
        """
        try:
            async with asyncio.timeout(_ASK_S), self.send(path, body) as reply:
                return json.loads(await reply.whole()) if reply.status == _OK else None
        except (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError) as error:
            raise engine_lost() from error
        except (aiohttp.ClientError, OSError, ValueError):
            return None
