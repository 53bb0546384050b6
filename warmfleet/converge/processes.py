"""Ends what a stopped run leaves behind."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["end_marked"]


_GRACE_S = 5.0
_POLL_S = 0.05


def end_marked(variable: str, value: str) -> int:
    """End all processes that have ``variable=value`` in their environment; count them.

    Ansible's workers lead sessions of their own, so that ending its process group misses them, and
    the task that each is at would go on. They are known by a variable that only this run has.
    Returns when they are gone; what does not end within 5 seconds is killed.
    """
    mark = f"{variable}={value}".encode()
    marked = list(_marked(mark))
    for pid in marked:
        _signal(pid, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE_S
    while any(_marked(mark)) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    for pid in _marked(mark):
        _signal(pid, signal.SIGKILL)
    return len(marked)


def _marked(mark: bytes) -> Iterator[int]:
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        with suppress(OSError):  # another user's, or gone meanwhile
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(OSError):
        os.kill(pid, number)
