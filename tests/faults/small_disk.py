"""A disk of a few MB, so that the machine's own need not be filled."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["grow", "mounted"]


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    """Mount one in ``folder``, which is made."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "small", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def grow(folder: Path, size: str) -> None:
    """Make room on it."""
    subprocess.run(["mount", "-o", f"remount,size={size}", folder], check=True)
