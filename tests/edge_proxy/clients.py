"""What the tests of this room ask of the gateway."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from tests.edge_proxy.gateway import API_KEY, HOST, Gateway

__all__ = [
    "PROBE_INTERVAL_S",
    "READ_TIMEOUT_S",
    "chat",
    "connect",
    "post_and_leave",
    "wait_for_health",
]

READ_TIMEOUT_S = 3.0
PROBE_INTERVAL_S = 0.4


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
