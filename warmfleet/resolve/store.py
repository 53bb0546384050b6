"""Where files of weights lie, whatever the distance: reads of a part of one, and what can fail."""

import os
from typing import Final, Protocol

from msgspec import Struct

__all__ = ["Chunk", "RangedFile", "SourceMissingError", "SourceUnreachableError", "Store"]

_FIRST_BYTES: Final = 256 * 1024
_BLOCK_BYTES: Final = 4 * 1024 * 1024
_MOST_BYTES: Final = 128 * 1024 * 1024
"""Above the head of any model: that of a 256k vocabulary is about 10 MB."""


class SourceMissingError(Exception):
    """There is no such file; its message is the place."""


class SourceUnreachableError(Exception):
    """Nothing can be read there, or not without other rights; its message says why."""


class Chunk(Struct, frozen=True):
    """A part of a file, and what the store says of the whole."""

    data: bytes
    size: int
    sha256: str | None = None
    revision: str | None = None


class Store(Protocol):
    """A folder of files."""

    def read(self, path: str, *, start: int, length: int) -> Chunk:
        """Return up to ``length`` bytes from ``start`` on: fewer only where the file ends.

        Raises:
            SourceMissingError: no such file.
            SourceUnreachableError: the store cannot be read.
            ValueError: the store answers something that cannot be.
        """
        ...


class RangedFile:
    """A file of a store, read from front to back in blocks."""

    def __init__(self, store: Store, path: str) -> None:
        self._store = store
        self._path = path
        self._at = 0
        self._start = 0
        self._held = b""
        self.first = self._fetch(_FIRST_BYTES)
        self.size = self.first.size

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, fewer only at the end of the file."""
        offset = self._at - self._start
        if offset + size > len(self._held):
            self._fetch(max(size, _BLOCK_BYTES))
            offset = 0
        data = self._held[offset : offset + size]
        self._at += len(data)
        return data

    def seek(self, offset: int, _whence: int = os.SEEK_CUR, /) -> int:
        """Go on by ``offset`` bytes; nothing is read for it."""
        self._at += offset
        return self._at

    def _fetch(self, length: int) -> Chunk:
        if self._at + length > _MOST_BYTES:
            msg = f"found a head of more than {_MOST_BYTES} bytes; needed a file of weights"
            raise ValueError(msg)
        chunk = self._store.read(self._path, start=self._at, length=length)
        self._start, self._held = self._at, chunk.data
        return chunk
