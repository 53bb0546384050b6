"""When this process started, as the kernel saw it: before Python ran a line."""

import os
import time
from pathlib import Path

__all__ = ["process_start_monotonic"]

_FIELDS_BEFORE_START_TIME = 19  # counted after the parenthesised name, which may hold spaces


def process_start_monotonic() -> float:
    """Return the start of this process on ``time.monotonic`` (seconds, exact to 10 ms)."""
    stat = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace")
    ticks = int(stat.rpartition(")")[2].split()[_FIELDS_BEFORE_START_TIME])
    since_boot = ticks / os.sysconf("SC_CLK_TCK")
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - since_boot
    return time.monotonic() - max(age, 0.0)
