"""Whether the host, or the service's own share of it, is about to run out of memory."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

__all__ = ["MemoryGuard"]

_FRESH_S: Final = 0.25
_KIB: Final = 1024


class MemoryGuard:
    """Compares what can still be had with a watermark; call it to ask.

    Swap is not counted: an engine that swaps answers nobody in time. Pages of files are counted
    as free, since the kernel drops them before it kills.

    Args:
        least_bytes: below this it is short; 0 turns it off.
        root: of the file system, for tests.
        now: seconds of a clock that only goes forward.
    """

    def __init__(
        self,
        least_bytes: int,
        *,
        root: Path = Path("/"),
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._least_bytes = least_bytes
        self._meminfo = root / "proc/meminfo"
        self._group = _own_group(root)
        self._now = now
        self._until = float("-inf")
        self._short = False

    def __call__(self) -> bool:
        """Return whether memory is short; as of a quarter of a second ago at most."""
        if self._least_bytes and self._now() >= self._until:
            self._until = self._now() + _FRESH_S
            self._short = self.available() < self._least_bytes
        return self._short

    def available(self) -> float:
        """Return the bytes that can still be had, infinity where nothing tells."""
        free = [_fields(self._meminfo).get("MemAvailable:", float("inf")) * _KIB]
        if self._group is not None:
            most = _number(self._group / "memory.max")
            used = _number(self._group / "memory.current")
            if most is not None and used is not None:
                pages = _fields(self._group / "memory.stat").get("file", 0.0)
                free.append(most - used + pages)
        return min(free)


def _own_group(root: Path) -> Path | None:
    """Return the folder of this process's cgroup (version 2), None where there is none."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        number, _, path = line.split(":", 2)
        folder = root / "sys/fs/cgroup" / path.lstrip("/")
        if number == "0" and (folder / "memory.max").exists():
            return folder
    return None


def _fields(path: Path) -> dict[str, float]:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    words = [line.split() for line in lines]
    return {line[0]: float(line[1]) for line in words if len(line) > 1 and line[1].isdecimal()}


def _number(path: Path) -> float | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return float(text) if text.isdecimal() else None  # "max": no limit
