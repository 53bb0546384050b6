"""Server-sent events as engines send them: a ``data:`` line and an empty line (LF alone)."""

from collections.abc import Iterator
from typing import Final

__all__ = ["DONE", "EventBuffer", "data_of", "split_events"]

DONE: Final = b"[DONE]"
_END: Final = b"\n\n"


class EventBuffer:
    """Turns chunks of a stream, cut anywhere, into blocks of whole events."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> bytes:
        """Add a chunk; return the events that are whole now, often the chunk itself."""
        data = self._rest + chunk if self._rest else chunk
        end = data.rfind(_END)
        if end < 0:
            self._rest = data
            return b""
        end += len(_END)
        self._rest = data[end:]
        return data[:end]


def split_events(block: bytes) -> Iterator[bytes]:
    """Yield each event of a block, its ending included."""
    start = 0
    while (end := block.find(_END, start)) >= 0:
        end += len(_END)
        yield block[start:end]
        start = end


def data_of(event: bytes) -> bytes | None:
    """Return what an event carries; None for a comment (keep-alive) or an event without data.

    llama.cpp begins an answer to several prompts with ``data: null``.
    """
    lines = [
        line[5:].removeprefix(b" ") for line in event.splitlines() if line.startswith(b"data:")
    ]
    data = b"\n".join(lines)
    return None if not lines or data == b"null" else data
