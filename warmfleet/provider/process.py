"""Run a program with a time limit, a way to cancel it, and errors of one line."""

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
) -> Finished:
    """Run ``argv``, whatever its exit status.

    Raises:
        ToolMissingError: the program is not on PATH.
        StackError: it ran longer than ``timeout_s`` seconds, or ``cancelled`` was set.
    """
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
        )
    except FileNotFoundError as error:
        msg = f"{argv[0]} is not on PATH; install it (make tools)"
        raise ToolMissingError(msg) from error
    deadline = time.monotonic() + timeout_s
    given: str | None = stdin
    while True:
        try:
            stdout, stderr = process.communicate(given, timeout=_POLL_S)
        except subprocess.TimeoutExpired:
            given = None
            if cancelled is not None and cancelled.is_set():
                _end(process)
                msg = f"cancelled while running {_shown(argv)}"
                raise StackError(msg) from None
            if time.monotonic() > deadline:
                _end(process)
                msg = f"{_shown(argv)} did not end within {timeout_s:g} s"
                raise StackError(msg) from None
        else:
            return Finished(process.returncode, stdout, stderr)


def last_line(text: str) -> str:
    """Return the last line that says something: where programs put the cause."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def _shown(argv: Sequence[str]) -> str:
    return " ".join(argv[:3]) + (" ..." if len(argv) > 3 else "")
