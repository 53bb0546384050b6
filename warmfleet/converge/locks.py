"""A lock between processes of one machine."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["LockHeldError", "exclusive", "holder_of"]


class LockHeldError(Exception):
    """Another process holds the lock."""


@contextmanager
def exclusive(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold an exclusive lock on ``path``; it ends with the process at latest.

    A file that is missing is made. A folder that is there can be locked as well.

    Raises:
        LockHeldError: another process has it and ``wait`` is false.
    """
    access = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = os.open(path, access | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise LockHeldError(path) from error
        yield
    finally:
        os.close(descriptor)


def holder_of(path: Path) -> int | None:
    """Return the process that holds the lock on ``path``; None when nobody in sight does."""
    inode = path.stat().st_ino
    for line in Path("/proc/locks").read_text().splitlines():
        # 1: FLOCK  ADVISORY  WRITE 4711 fe:00:123456 0 EOF
        _, kind, *_, pid, file, _, _ = line.split()
        if kind == "FLOCK" and int(file.rpartition(":")[2]) == inode and int(pid) > 0:
            return int(pid)
    return None
