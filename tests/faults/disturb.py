"""Runs a command and does it harm at a moment that it tells of itself."""

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["ITSELF", "Disturbed", "Harm", "disturb", "kill", "kill_group", "paused"]

Harm = Callable[[int], Sequence[str]]
"""Gets the process of the command, says what it did; empty when there was nothing to harm."""

ITSELF = ""
"""Victim: the command and no child of it."""

_VICTIM_LIMIT_S = 30.0
_POLL_S = 0.003


@dataclass
class Disturbed:
    """How a command ended that was disturbed."""

    status: int = 0
    seconds: float = 0.0
    """From the harm to the end."""
    lines: list[str] = field(default_factory=list)
    harm: list[str] = field(default_factory=list)

    @property
    def errors(self) -> list[str]:
        """Lines that tell a person what went wrong."""
        return [line for line in self.lines if line.startswith("error: ")]


def disturb(
    command: Sequence[str],
    variables: Mapping[str, str],
    moment: str,
    harm: Harm,
    *,
    delay_s: float = 0.0,
    limit_s: float = 300.0,
) -> Disturbed:
    """Run ``command`` to its end; do harm ``delay_s`` after a line that ``moment`` matches.

    Over the limit the command is killed.
    """
    result = Disturbed()
    began = time.monotonic()

    def act(pid: int) -> None:
        nonlocal began
        time.sleep(delay_s)
        result.harm += harm(pid)
        began = time.monotonic()

    with subprocess.Popen(
        command,
        env=dict(variables),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,  # as a shell starts it
    ) as process:
        limit = threading.Timer(limit_s, process.kill)
        limit.start()
        actor: threading.Thread | None = None
        try:
            assert process.stderr is not None
            for line in process.stderr:
                result.lines.append(line.rstrip("\n"))
                if actor is None and re.search(moment, line):
                    actor = threading.Thread(target=act, args=(process.pid,))
                    actor.start()
            process.wait()
        except BaseException:
            process.kill()
            raise
        finally:
            limit.cancel()
            if actor is not None:
                actor.join()
    result.status = process.returncode
    result.seconds = round(time.monotonic() - began, 1)
    return result


def kill(victim: str, *, beside: str = "") -> Harm:
    """Return what kills all descendants whose command line ``victim`` matches.

    It waits for one, and for one that ``beside`` matches.
    """

    def harm(root: int) -> list[str]:
        killed: list[str] = []
        deadline = time.monotonic() + _VICTIM_LIMIT_S
        while not killed and time.monotonic() < deadline:
            own = _command_line(root)
            if own is None:
                return []
            below = {pid: line for pid in _descendants(root) if (line := _command_line(pid))}
            if any(re.search(beside, line) for line in [own, *below.values()]):
                victims = {root: own} if victim == ITSELF else below
                for pid, line in victims.items():
                    if re.search(victim, line):
                        os.kill(pid, signal.SIGKILL)
                        killed.append(line)
            time.sleep(_POLL_S)
        return killed

    return harm


def kill_group(root: int) -> list[str]:
    """Kill the command with all of its process group."""
    os.killpg(root, signal.SIGKILL)
    return [f"group {root}"]


@contextmanager
def paused(root: int, wanted: str) -> Iterator[None]:
    """Let the descendants that ``wanted`` matches stand still for the length of the block."""
    found = [pid for pid in _descendants(root) if re.search(wanted, _command_line(pid) or "")]
    for pid in found:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in found:
            os.kill(pid, signal.SIGCONT)


def _descendants(root: int) -> list[int]:
    found: list[int] = []
    todo = [root]
    while todo:
        mine: list[int] = []
        with suppress(OSError):  # one that has ended meanwhile
            # A child belongs to the thread that started it.
            for task in Path("/proc", str(todo.pop()), "task").glob("*/children"):
                mine += map(int, task.read_text().split())
        found += mine
        todo += mine
    return found


def _command_line(pid: int) -> str | None:
    """Return the command line; None when the process is gone, or was killed already."""
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes().replace(b"\0", b" ").decode() or None
    except OSError:
        return None
