"""Files and folders that only their owner may read, put in place whole or not at all."""

import os
import tempfile
from pathlib import Path

from warmfleet.errors import PermissionNeededError

__all__ = ["private_folder", "replace_private", "write_private_once"]


def private_folder(path: Path) -> Path:
    """Return the folder, made with mode 0700 when missing.

    Raises:
        PermissionNeededError: it is no folder, or another user's.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        writable = os.access(path, os.W_OK | os.X_OK)
    except OSError:
        writable = False
    if not writable:
        msg = (
            f"{path} is no folder that this user can write; who ran warmfleet first owns it: "
            f"run it as that user, or give the folder away (sudo chown -R $USER {path})"
        )
        raise PermissionNeededError(msg)
    return path


def write_private_once(path: Path, text: str) -> None:
    """Put a new file in place unless another process was first; then theirs stays."""
    draft = _draft(path, text)
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def replace_private(path: Path, text: str) -> None:
    """Put a file in place of whatever is there."""
    _draft(path, text).replace(path)


def _draft(path: Path, text: str) -> Path:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)  # mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        Path(name).unlink()
        raise
    return Path(name)
