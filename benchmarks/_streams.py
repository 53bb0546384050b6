"""A client of streamed completions that costs little beside what it measures.

It reads bytes and counts events; it parses no JSON. One connection carries one stream at a time.
"""

import asyncio
import json
import secrets
import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_EVENT = b"data: "
_END = b"0\r\n\r\n"
_READ_BYTES = 256 * 1024


@dataclass(frozen=True)
class Target:
    """Where streams come from.

    Attributes:
        name: in figures.
        address: ``(host, port)``, or the path of a Unix socket.
        keeps: a connection is used again; else each stream has a new one.
        tls: of the client; None for plain HTTP.
        server_name: that the server must prove to be.
        key: API key.
    """

    name: str
    address: tuple[str, int] | Path
    keeps: bool
    tls: ssl.SSLContext | None = None
    server_name: str | None = None
    key: str | None = None


@dataclass(frozen=True)
class Sample:
    """One stream; ``first_s`` is the time to its first event."""

    first_s: float
    total_s: float
    events: int


class Client:
    """One client of a target; use as an async context manager."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __aenter__(self) -> Self:
        if self._target.keeps:
            self._connection = await self._connect()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Drop the connection."""
        if self._connection is not None:
            self._connection[1].close()
            self._connection = None

    def stop_reading(self) -> None:
        """Leave in the kernel's buffers what still comes."""
        if self._connection is not None:
            transport = self._connection[1].transport
            assert isinstance(transport, asyncio.Transport)  # noqa: S101 - both ways, by its opener
            transport.pause_reading()

    async def stream(self, body: bytes) -> Sample:
        """Read one stream to its end.

        Raises:
            RuntimeError: any other answer than a whole stream.
        """
        began = time.perf_counter()
        reader = await self.send(body)
        first_s, events, tail = 0.0, 0, b""
        while not tail.endswith(_END):
            chunk = await reader.read(_READ_BYTES)
            if not chunk:
                msg = f"{self._target.name} ended a stream after {events} events"
                raise RuntimeError(msg)
            # An event's mark, or the end, may be cut in two.
            seen = tail + chunk
            events += seen.count(_EVENT) - tail.count(_EVENT)
            if events and not first_s:
                first_s = time.perf_counter() - began
            tail = seen[-(len(_EVENT) - 1) :]
        total_s = time.perf_counter() - began
        if not self._target.keeps:
            self.close()
        return Sample(first_s, total_s, events)

    async def send(self, body: bytes) -> asyncio.StreamReader:
        """Send a request; return the reader of its body once the header is there."""
        self._connection = self._connection or await self._connect()
        reader, writer = self._connection
        key = f"authorization: Bearer {self._target.key}\r\n" if self._target.key else ""
        head = (
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n"
            f"content-type: application/json\r\n{key}content-length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        if answer.split(b" ", 2)[1] != b"200":
            reason = await reader.read(_READ_BYTES)
            msg = f"{self._target.name} answered {answer[:60]!r}: {reason[:200]!r}"
            raise RuntimeError(msg)
        return reader

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        address, tls = self._target.address, self._target.tls
        if isinstance(address, Path):
            return await asyncio.open_unix_connection(address, limit=_READ_BYTES)
        name = self._target.server_name if tls else None
        return await asyncio.open_connection(
            *address, ssl=tls, server_hostname=name, limit=_READ_BYTES
        )


def chat_body(words: int, output_tokens: int, **fields: Any) -> bytes:
    """Return a request of ``words`` words that share no prefix with those before.

    A prompt cache would answer for the engine otherwise.
    """
    prompt = " ".join([secrets.token_hex(3), *["harbour"] * (words - 1)])
    document = {
        "model": "chat",
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": output_tokens,
        "stream": True,
        "ignore_eos": True,
        **fields,
    }
    return json.dumps(document).encode()
