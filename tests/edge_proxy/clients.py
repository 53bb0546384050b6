"""What the tests of this room ask of the gateway."""

import asyncio
from typing import Any

import aiohttp

__all__ = ["PROBE_INTERVAL_S", "READ_TIMEOUT_S", "chat", "wait_for_health"]

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
