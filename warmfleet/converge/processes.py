"""Ends what a stopped run leaves behind."""

import os
import signal
from contextlib import suppress
from pathlib import Path

__all__ = ["end_marked"]


def end_marked(variable: str, value: str) -> int:
    """Terminate all processes that have ``variable=value`` in their environment; count them.

    Ansible's workers lead sessions of their own, so that ending its process group misses them, and
    the task that each is at would go on. They are known by a variable that only this run has.
    """
    mark = f"{variable}={value}".encode()
    ended = 0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        with suppress(OSError):  # another user's, or gone meanwhile
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                os.kill(int(folder.name), signal.SIGTERM)
                ended += 1
    return ended
