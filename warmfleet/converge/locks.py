"""A lock between processes of one machine."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["LockHeldError", "exclusive"]


class LockHeldError(Exception):
    """Another process holds the lock."""


@contextmanager
def exclusive(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold an exclusive lock on ``path``, made when missing; it ends with the process at latest.

    Raises:
        LockHeldError: another process has it and ``wait`` is false.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise LockHeldError(path) from error
        yield
    finally:
        os.close(descriptor)
