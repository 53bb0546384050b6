"""Whether the host, or a share of it that the service lives in, is about to run out of memory."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

__all__ = ["MemoryGuard"]

_FRESH_S: Final = 0.25
_KIB: Final = 1024
_DROPPED: Final = ("active_file", "inactive_file")


class MemoryGuard:
    """Compares what can still be had with a watermark; call it to ask.

    Swap is not counted: an engine that swaps answers nobody in time. Pages of files are counted
    as free, since the kernel drops them before it kills; those of tmpfs and locked ones it keeps.
    A limit may be the unit's own, or of what it is in: a slice, or a container.

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
        self._groups = _groups(root)
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
        for group in self._groups:
            most = _number(group / "memory.max")
            used = _number(group / "memory.current")
            if most is not None and used is not None:
                pages = _fields(group / "memory.stat")
                free.append(most - used + sum(pages.get(name, 0.0) for name in _DROPPED))
        return min(free)


def _groups(root: Path) -> list[Path]:
    """Return the folders of this process's cgroup (version 2) and of those that it is in."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    mounted = root / "sys/fs/cgroup"
    # Without a namespace of its own a container shows a path that is not there, and its limit here.
    found = [mounted / line.removeprefix("0::/") for line in lines if line.startswith("0::/")]
    inside = [group for own in found for group in (own, *own.parents) if mounted in group.parents]
    return [group for group in (*inside, mounted) if (group / "memory.max").exists()]


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
