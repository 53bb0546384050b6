"""Room on a disk: asked for before work that needs much of it, named when it is not there."""

import shutil
from pathlib import Path

from warmfleet.errors import DiskFullError

__all__ = ["require_space"]

_MB = 1_000_000


def require_space(folder: Path, needed_bytes: float, purpose: str) -> None:
    """Check that the disk of ``folder``, which exists, has room for ``purpose``.

    Raises:
        DiskFullError: names the folder, what is free and what is needed.
    """
    free = shutil.disk_usage(folder).free
    if free < needed_bytes:
        msg = (
            f"{purpose}: found {free / _MB:.0f} MB free on the disk of {folder}, needed "
            f"{needed_bytes / _MB:.0f} MB; make room there and run it again"
        )
        raise DiskFullError(msg)
