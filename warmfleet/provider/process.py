"""Run a program with a time limit, a way to cancel it, and errors of one line."""

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warmfleet.errors import StackError, ToolMissingError

__all__ = ["Finished", "last_line", "run_program"]

_POLL_S = 0.2
_GRACE_S = 5


@dataclass(frozen=True)
class Finished:
    """How a program ended."""

    status: int
    stdout: str
    stderr: str


def run_program(
    argv: Sequence[str],
    *,
    timeout_s: float,
    stdin: str = "",
    variables: Mapping[str, str] | None = None,
    folder: Path | None = None,
    cancelled: threading.Event | None = None,
    whole: bool = False,
) -> Finished:
    """Run ``argv``, whatever its exit status.

    A cancel, or Ctrl-C, ends the program at once. With ``whole`` it is let run to its end first,
    within the time limit: for what must not be left half done.

    Raises:
        ToolMissingError: the program is not on PATH.
        StackError: it ran longer than ``timeout_s`` seconds, or ``cancelled`` was set.
    """
    if cancelled is not None and cancelled.is_set():
        msg = f"cancelled before {_shown(argv)}"
        raise StackError(msg)
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **(variables or {})},
            cwd=folder,
            text=True,
            errors="replace",
            # Whoever ends our process group (a terminal, the Pulumi engine) must not end this.
            process_group=0,
        )
    except FileNotFoundError as error:
        msg = f"{argv[0]} is not on PATH; install it (make tools)"
        raise ToolMissingError(msg) from error
    deadline = time.monotonic() + timeout_s
    try:
        return _communicate(process, argv, stdin, deadline, None if whole else cancelled)
    except BaseException:
        if whole and time.monotonic() < deadline:
            _finish(process, deadline)
        _end(process)
        raise


def last_line(text: str) -> str:
    """Return the last line that says something: where programs put the cause."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def _communicate(
    process: subprocess.Popen[str],
    argv: Sequence[str],
    stdin: str,
    deadline: float,
    cancelled: threading.Event | None,
) -> Finished:
    given: str | None = stdin
    while True:
        try:
            stdout, stderr = process.communicate(given, timeout=_POLL_S)
        except subprocess.TimeoutExpired:
            given = None
        else:
            return Finished(process.returncode, stdout, stderr)
        if cancelled is not None and cancelled.is_set():
            msg = f"cancelled while running {_shown(argv)}"
            raise StackError(msg)
        if time.monotonic() > deadline:
            msg = f"{_shown(argv)} did not end within its time limit"
            raise StackError(msg)


def _finish(process: subprocess.Popen[str], deadline: float) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.communicate(timeout=max(0.0, deadline - time.monotonic()))


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.communicate(timeout=_GRACE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def _shown(argv: Sequence[str]) -> str:
    return " ".join(argv[:3]) + (" ..." if len(argv) > 3 else "")
