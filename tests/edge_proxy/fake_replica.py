"""A fake replica: the two ports of the service, with an engine that does what the request says.

The body of a request carries the script: ``pause_s`` (silence before the first event), ``events``,
``gap_s`` (between events), ``stream``. Faults are set on the object.
"""

import asyncio
import contextlib
import ssl
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from multidict import CIMultiDict

__all__ = ["FakeReplica"]

HOST = "127.0.0.1"


@dataclass
class FakeReplica:
    """One replica on loopback. Its traffic port may be bound while it is cold, to tempt a proxy.

    It serves with ``tls``, on the admin port with ``admin_tls`` where that is another one.
    """

    name: str
    model: str = "chat"
    tls: ssl.SSLContext | None = None
    admin_tls: ssl.SSLContext | None = None
    ready: bool = False
    port: int = 0
    admin_port: int = 0
    close_reused: bool = False
    crash: bool = False
    served: list[str] = field(default_factory=list)
    headers: list[CIMultiDict[str]] = field(default_factory=list)
    cold_hits: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    connections: set[asyncio.Transport] = field(default_factory=set)
    started: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    _runners: list[web.AppRunner] = field(default_factory=list)

    async def start(self) -> None:
        """Bind both ports; a port that was picked before is used again."""
        traffic = web.Application(client_max_size=16 * 1024 * 1024)
        for path in ("/v1/chat/completions", "/v1/completions", "/v1/embeddings"):
            traffic.router.add_post(path, self._complete)
        traffic.router.add_get("/v1/models", self._models)
        traffic.router.add_get("/v1/models/{name}", self._models)
        admin = web.Application()
        admin.router.add_get("/readyz", self._readyz)
        self.port = await self._listen(traffic, self.port, self.tls)
        self.admin_port = await self._listen(admin, self.admin_port, self.admin_tls or self.tls)

    async def drain(self, notice_s: float) -> None:
        """Leave as the service does: not ready, notice, listener closed, work finished."""
        self.ready = False
        await asyncio.sleep(notice_s)
        await self.stop()

    async def stop(self) -> None:
        """Close the listeners; requests in flight may end."""
        servers = [runner.server for runner in self._runners]
        for runner in self._runners:
            await runner.cleanup()
        self._runners.clear()
        # A handshake that was under way ends as a connection that nobody closes any more.
        await asyncio.sleep(0.05)
        for server in servers:
            assert server is not None
            await server.shutdown(0)
        # What was aborted, or waits for the proxy's goodbye, is closed soon: before the test ends.
        for transport in self.connections:
            # asyncio's transport of a TLS connection that was closed twice has let go of it.
            with contextlib.suppress(AttributeError):
                transport.abort()
        self.connections.clear()
        await asyncio.sleep(0.1)

    def entry(self) -> dict[str, Any]:
        """Return this replica as the proxy's membership file lists it."""
        return {
            "name": self.name,
            "model": self.model,
            "address": HOST,
            "port": self.port,
            "admin_port": self.admin_port,
            "server_name": self.name,
        }

    async def _listen(self, app: web.Application, port: int, tls: ssl.SSLContext | None) -> int:
        runner = web.AppRunner(
            app, handler_cancellation=True, shutdown_timeout=10, keepalive_timeout=75
        )
        await runner.setup()
        site = web.TCPSite(runner, HOST, port, reuse_address=True, ssl_context=tls)
        await site.start()
        self._runners.append(runner)
        return int(runner.addresses[0][1])

    async def _readyz(self, _request: web.Request) -> web.Response:
        return web.json_response({"state": "ready"}, status=200 if self.ready else 503)

    async def _models(self, request: web.Request) -> web.Response:
        self.headers.append(request.headers.copy())
        return web.json_response({"object": "list", "data": [{"id": self.model}]})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        script = await request.json()
        transport = request.transport
        assert transport is not None
        self.cold_hits += not self.ready
        self.served.append(script.get("id", ""))
        self.headers.append(request.headers.copy())
        used_before = transport in self.connections
        self.connections.add(transport)
        if self.crash or (self.close_reused and used_before):
            transport.abort()
            return web.Response()
        self.in_flight += 1
        self.started.set()
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._answer(request, script)
        except (asyncio.CancelledError, ConnectionResetError):
            self.cancelled.set()
            raise
        finally:
            self.in_flight -= 1

    async def _answer(self, request: web.Request, script: dict[str, Any]) -> web.StreamResponse:
        identity = {"X-Warmfleet-Replica": self.name, "X-Request-Id": "from-the-replica"}
        events, gap_s = script.get("events", 1), script.get("gap_s", 0)
        await asyncio.sleep(script.get("pause_s", 0))
        if not script.get("stream"):
            return web.json_response({"content": "token " * events}, headers=identity)
        # A content type with a charset is where other proxies fell back to buffering.
        response = web.StreamResponse(
            headers={**identity, "Content-Type": "text/event-stream; charset=utf-8"}
        )
        await response.prepare(request)
        for number in range(events):
            await response.write(f"data: {number}\n\n".encode())
            await asyncio.sleep(gap_s)
        with contextlib.suppress(ConnectionResetError):
            await response.write(b"data: [DONE]\n\n")
        return response
