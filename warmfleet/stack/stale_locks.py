"""Locks that a killed ``pulumi`` left in a backend of files."""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

__all__ = ["Holder", "clear_stale_locks"]

_PROGRAM = "pulumi"
_ENDED = frozenset("ZX")  # states of a process that nobody has collected yet


@dataclass(frozen=True)
class Holder:
    """Who took a lock, as Pulumi writes it down."""

    user: str
    host: str
    pid: int
    since: datetime

    @classmethod
    def read(cls, text: str) -> Self:
        """Read the content of a lock file.

        Raises:
            ValueError, KeyError, TypeError: it is not one.
        """
        found = json.loads(text)
        since = datetime.fromisoformat(found["timestamp"])
        return cls(found["username"], found["hostname"], int(found["pid"]), since)

    def __str__(self) -> str:
        """Return user, machine, process and time."""
        since = self.since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return f"{self.user}@{self.host} (pid {self.pid}) since {since}"

    def is_gone(self) -> bool:
        """Tell whether it was a process of this machine that has ended; when unsure: no."""
        if self.host != socket.gethostname():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False  # another user's, and perhaps hidden from /proc
        try:
            stat = Path("/proc", str(self.pid), "stat").read_text()
        except OSError:
            return False
        name = stat[stat.index("(") + 1 : stat.rindex(")")]
        state, *fields = stat[stat.rindex(")") + 1 :].split()
        if state in _ENDED:
            return True
        # Somebody else has the number now. Both must speak for that: clocks can be set.
        return name != _PROGRAM and _started(int(fields[18])) > self.since


def clear_stale_locks(backend: str, stack: str) -> Iterator[Holder]:
    """Delete the locks of ``stack`` whose holders are gone; yield those holders.

    Only in a backend of files (``file:///...``). Each lock is a file of its own with a name that
    is never used again, so a lock that somebody takes meanwhile cannot be hit; ``pulumi cancel``
    would delete them all.
    """
    address = urlsplit(backend)
    if address.scheme != "file" or address.netloc or not address.path.startswith("/"):
        return
    for path in Path(address.path).glob(f".pulumi/locks/*/*/{stack}/*.json"):
        with suppress(OSError, ValueError, KeyError, TypeError):  # what pulumi itself will report
            holder = Holder.read(path.read_text(encoding="utf-8"))
            if holder.is_gone():
                path.unlink()
                path.with_name(f"{path.name}.attrs").unlink(missing_ok=True)
                yield holder


def _started(ticks: int) -> datetime:
    """Return when a process started that did so ``ticks`` after the boot."""
    age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return datetime.now(UTC) - timedelta(seconds=age_s)
