"""What the tests of this room ask of the gateway."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from tests.edge_proxy.gateway import API_KEY, HOST, Gateway

__all__ = [
    "PROBE_INTERVAL_S",
    "READ_TIMEOUT_S",
    "Load",
    "chat",
    "connect",
    "post_and_leave",
    "status_of",
    "until",
    "wait_for_health",
]

READ_TIMEOUT_S = 3.0
PROBE_INTERVAL_S = 0.4


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what must come soon; how soon depends on the machine, not on the gateway."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.02)


async def wait_for_health(client: aiohttp.ClientSession, status: int) -> None:
    async with asyncio.timeout(10):
        while True:
            async with client.get("/healthz") as response:
                if response.status == status:
                    return
            await asyncio.sleep(0.02)


def chat(client: aiohttp.ClientSession, **script: Any) -> Any:
    """Post a completion; the script is what the fake replica does."""
    return client.post("/v1/chat/completions", json={"model": "chat", **script})


async def post_and_leave(gateway: Gateway, left: asyncio.Event, **script: Any) -> None:
    """Post a completion on a connection of its own and drop that connection when ``left`` is set.

    Not with aiohttp: over TLS it leaves the TCP connection open until the other side says goodbye.
    """
    async with connect(gateway, gateway.tls()) as (_, writer):
        body = json.dumps({"model": "chat", **script})
        writer.write(
            "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: Bearer {API_KEY}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        await left.wait()


@asynccontextmanager
async def connect(
    gateway: Gateway, context: ssl.SSLContext
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open one TLS connection and drop it, without a goodbye, at the end of the block."""
    reader, writer = await asyncio.open_connection(
        HOST, gateway.variables["edge_proxy_listen_port"], ssl=context
    )
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        await asyncio.sleep(0.01)  # the loop closes the socket in its next rounds


async def status_of(client: aiohttp.ClientSession, **script: object) -> int:
    async with chat(client, **script) as response:
        await response.read()
        return int(response.status)


class Load:
    """Clients without retries, in the background for as long as the block lasts."""

    def __init__(self, client: aiohttp.ClientSession, clients: int, **script: object) -> None:
        self.client, self.script = client, script
        self.clients = clients
        self.stopped = False
        self.outcomes: list[int | str] = []

    async def __aenter__(self) -> list[int | str]:
        self.tasks = [asyncio.create_task(self._run()) for _ in range(self.clients)]
        return self.outcomes

    async def __aexit__(self, *_: object) -> None:
        self.stopped = True
        await asyncio.gather(*self.tasks)

    async def _run(self) -> None:
        while not self.stopped:
            try:
                self.outcomes.append(await status_of(self.client, **self.script))
            except aiohttp.ClientError as error:
                self.outcomes.append(repr(error))
