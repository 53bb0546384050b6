"""Addresses in the access logs of nginx, however long they are."""

import gzip
import re
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast

from warmfleet.resolve.progress import Progress

__all__ = ["addresses", "log_files"]

_COMBINED = re.compile(rb'(\S+) \S+ .*?\[[^\]]+\] "')
"""The beginning of a line; what follows says nothing of where a client is."""

_LONGEST_LINE = 64 * 1024
_BATCH = 100_000
"""Different addresses that are held at a time: memory does not grow with the log."""

_QUIET_S = 2.0
_EVERY = 50_000
"""Lines between looks at the clock."""


def log_files(root: Path, pattern: str) -> list[Path]:
    """Return the files of a path, or those that a pattern such as ``access.log*`` matches."""
    path = root / pattern
    if path.is_file() or not any(sign in pattern for sign in "*?["):
        return [path]
    start = Path(path.anchor)
    return sorted(file for file in start.glob(str(path.relative_to(start))) if file.is_file())


def addresses(files: list[Path], progress: Progress) -> Iterator[tuple[Counter[bytes], int]]:
    """Yield batches: requests by address, and lines that are none of the combined format.

    Raises:
        OSError: a file cannot be read, or is no gzip although it begins as one.
    """
    clock = _Clock(files, progress)
    counts: Counter[bytes] = Counter()
    odd = 0
    for path in files:
        with path.open("rb") as raw:
            for number, line in enumerate(_lines(raw), start=1):
                if match := _COMBINED.match(line):
                    counts[match[1]] += 1
                else:
                    odd += 1
                if len(counts) >= _BATCH:
                    yield counts, odd
                    counts, odd = Counter(), 0
                if not number % _EVERY:
                    clock.look(raw)
            clock.done(raw)
    yield counts, odd


def _lines(raw: BinaryIO) -> Iterator[bytes]:
    packed = raw.read(2) == b"\x1f\x8b"
    raw.seek(0)
    file = cast("BinaryIO", gzip.GzipFile(fileobj=raw)) if packed else raw
    try:
        yield from iter(partial(file.readline, _LONGEST_LINE), b"")
    except (EOFError, zlib.error) as error:
        raise OSError(0, f"not a whole gzip file ({error})") from error


class _Clock:
    """Tells how far the files are read, once that takes a while."""

    def __init__(self, files: list[Path], progress: Progress) -> None:
        self._progress = progress
        self._total = sum(path.stat().st_size for path in files)
        self._read = 0
        self._next = time.monotonic() + _QUIET_S

    def look(self, raw: BinaryIO) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _QUIET_S
            read = (self._read + raw.tell()) / 10**6
            self._progress(f"access log: {read:.0f} of {self._total / 10**6:.0f} MB")

    def done(self, raw: BinaryIO) -> None:
        self._read += raw.tell()
