"""Downloads from the package index that this machine's pip is set up for."""

import importlib.util
import logging
import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import unquote

from warmfleet.errors import ConvergeError, DiskFullError, ToolMissingError

__all__ = ["Progress", "download"]

Progress = Callable[[str], None]
"""Called with one short line a step."""

_LIMIT_S = 1800.0
_FULL = "No space left on device"
_STEPS = ("Downloading ", "Using cached ")
_SHORTEST_PRIVATE = 5  # hiding what is shorter, such as "user", would hide words

logger = logging.getLogger(__name__)


def download(arguments: Sequence[str], folder: Path, progress: Progress) -> None:
    """Run ``pip download`` for wheels into ``folder``.

    No index is named here: hosts never reach one, and which index the control machine uses is
    the business of its pip configuration.

    Raises:
        ToolMissingError: this Python has no pip.
        ConvergeError: a package could not be downloaded, with pip's own reason.
        DiskFullError: no room for it.
    """
    if importlib.util.find_spec("pip") is None:
        msg = f"this Python has no pip, needed to fetch wheels; run {sys.executable} -m ensurepip"
        raise ToolMissingError(msg)
    command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-input"]
    command += ["--progress-bar", "off", "--only-binary", ":all:", "--no-deps"]
    command += ["--dest", str(folder), *arguments]
    reason, status = _run(command, folder, progress)
    if _FULL in reason:
        msg = f"pip download: {_FULL} on the disk of {folder}; make room there and run it again"
        raise DiskFullError(msg)
    if status != 0:
        msg = (
            f"pip download ended with {status}: {reason}; needed: a package index that has the "
            "locked versions (see pip config list)"
        )
        raise ConvergeError(msg)


def _run(command: list[str], folder: Path, progress: Progress) -> tuple[str, int]:
    lines: deque[str] = deque(maxlen=20)
    private = _private_parts()
    with subprocess.Popen(
        # Where the caller removes it, also what a pip that was killed had unpacked.
        ["env", f"TMPDIR={folder}", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            process.kill()

        timer = threading.Timer(_LIMIT_S, expire)
        timer.daemon = True
        timer.start()
        try:
            for line in process.stdout or ():
                text = line.strip()
                for part in private:
                    text = text.replace(part, "****")
                logger.debug("pip: %s", text)
                lines.append(text)
                if text.startswith(_STEPS):
                    progress(_short(text))
        except BaseException:
            process.kill()
            raise
        finally:
            timer.cancel()
        status = process.wait()
    if expired.is_set():
        return f"not done after {_LIMIT_S:.0f} s", status
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or list(lines) or ["no output"])[-1], status


def _private_parts() -> list[str]:
    """Return credentials of indexes that variables name, in all parts that pip may see them in.

    pip hides a password that is well formed. One with a ``/`` that is not quoted it takes for a
    path or a port, and says so.
    """
    found = set()
    for name, value in os.environ.items():
        if name.startswith(("PIP_", "UV_")):
            for written in re.findall(r"://([^\s]+)@", value):
                for form in (written, unquote(written)):
                    found |= {form, *re.split(r"[:/@]", form)}
    return sorted((part for part in found if len(part) >= _SHORTEST_PRIVATE), key=len, reverse=True)


def _short(line: str) -> str:
    """Keep the file name and size of pip's line, without the index's address."""
    verb, _, rest = line.partition(" ")
    if verb == "Using":
        verb, rest = "cached", rest.removeprefix("cached ")
    return f"{verb.lower()} {rest.rsplit('/', 1)[-1]}"
