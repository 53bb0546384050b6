"""Logging for entry points: short lines on stderr, every detail in a private file.

Library code only calls ``logging.getLogger(__name__)``.
"""

import logging
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

__all__ = ["configure", "open_log_file"]

_FORMAT = "%(asctime)s level=%(levelname)s logger=%(name)s %(message)s"


def configure(*, verbose: bool = False) -> None:
    """Send warnings (everything with ``verbose``) of this package to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    handler.setLevel(logging.DEBUG if verbose else logging.WARNING)
    logger = logging.getLogger("warmfleet")
    logger.handlers = [handler]
    logger.setLevel(logging.DEBUG)
    logger.propagate = False


def open_log_file(folder: Path, command: str) -> Path:
    """Add a detail log ``<command>-<UTC time>.log`` (mode 0600) in ``folder``; return its path."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = folder / f"{command}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.log"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    handler = _FileHandler(path, descriptor)
    formatter = logging.Formatter(_FORMAT)
    handler.setFormatter(formatter)
    handler.setLevel(logging.DEBUG)
    logger = logging.getLogger("warmfleet")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    return path


class _FileHandler(logging.StreamHandler[TextIO]):
    """Writes to a file; when that fails (a full disk), says so once and lets the command go on."""

    def __init__(self, path: Path, descriptor: int) -> None:
        super().__init__(os.fdopen(descriptor, "a", encoding="utf-8"))
        self._path = path
        self._told = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        """Report an error of the disk; any other is a fault in the call and shown as such."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            super().handleError(record)
        elif not self._told:
            self._told = True
            sys.stderr.write(f"warning: {self._path} lacks lines from here: {error.strerror}\n")
