"""Far more requests than a replica can take, and what became of each."""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field

import aiohttp

__all__ = ["Flood", "flood"]

_LONGEST_S = 60.0
_KEYS = ("web", "nightly", "batch")


@dataclass
class Flood:
    """What was seen.

    Attributes:
        statuses: how many answers had each HTTP status.
        odd: answers that are whole in no form that a client knows, or none at all.
        refusals_s: time of each answer that refused, seconds.
    """

    statuses: Counter[int] = field(default_factory=Counter)
    odd: list[str] = field(default_factory=list)
    refusals_s: list[float] = field(default_factory=list)


async def flood(base: str, *, count: int, at_once: int, tokens: int) -> Flood:
    """Send ``count`` requests, ``at_once`` of them at any time, and never wait as told."""
    seen = Flood()
    numbers = iter(range(count))
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=_LONGEST_S),
    ) as session:

        async def work() -> None:
            for number in numbers:
                await _one(session, base, number, tokens, seen)

        await asyncio.gather(*(work() for _ in range(at_once)))
    return seen


async def _one(
    session: aiohttp.ClientSession, base: str, number: int, tokens: int, seen: Flood
) -> None:
    chat, stream = number % 3 > 0, number % 2 > 0
    said = {"messages": [{"role": "user", "content": f"{number}"}]} if chat else {"prompt": "go"}
    body = {"model": "chat", "max_tokens": tokens, "stream": stream, **said}
    path = "/v1/chat/completions" if chat else "/v1/completions"
    headers = {"X-Warmfleet-Key": _KEYS[number % 7 % 3]}
    began = time.perf_counter()
    try:
        async with session.post(base + path, json=body, headers=headers) as response:
            answer = await response.read()
    except (aiohttp.ClientError, TimeoutError) as error:
        seen.odd.append(f"{type(error).__name__}: {error}")
        return
    seen.statuses[response.status] += 1
    if response.status == 200:
        whole = answer.endswith(b"data: [DONE]\n\n") if stream else b'"usage"' in answer
    else:
        seen.refusals_s.append(time.perf_counter() - began)
        whole = b'{"error": ' in answer and int(response.headers.get("Retry-After", 0)) > 0
    if not whole:
        seen.odd.append(f"{response.status}: {answer[:200]!r}")
