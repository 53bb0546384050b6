"""The weights on disk are the ones that were deployed, and whole, before an engine maps them."""

import hashlib
from pathlib import Path
from typing import Final

from inference_app.errors import EngineError
from inference_app.gguf import check_gguf

__all__ = ["check_weights"]

_MARKER: Final = ".verified"  # of who put the file there: its SHA-256, size and time of change


def check_weights(path: Path, size_bytes: int, sha256: str) -> str:
    """Refuse weights that are not the deployed ones, or no model at all.

    The bytes are read only where the marker beside the file does not vouch for them: a read of
    all weights in each start would double the time of a load.

    Returns:
        What vouches for the bytes: ``marker`` or ``sha256``.

    Raises:
        EngineError: one line with what was found and what is needed.
    """
    try:
        status = path.stat()
        if status.st_size != size_bytes:
            raise _wrong(path, f"{status.st_size} bytes", f"{size_bytes}, as deployed")
        check_gguf(path)
        if _vouched(path) == [sha256, str(status.st_size), str(status.st_mtime_ns)]:
            return "marker"
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        msg = f"model.path {path}: {error.strerror}; needed a GGUF file that can be read"
        raise EngineError(msg) from error
    except ValueError as error:
        msg = f"model.path {path}: {error}"
        raise EngineError(msg) from error
    if found != sha256:
        raise _wrong(path, f"sha256 {found}", f"{sha256}, as deployed")
    return "sha256"


def _vouched(path: Path) -> list[str]:
    try:
        return path.with_name(_MARKER).read_text(encoding="utf-8").split(maxsplit=3)[:3]
    except (OSError, ValueError):
        return []


def _wrong(path: Path, found: str, needed: str) -> EngineError:
    return EngineError(
        f"model.path {path}: found {found}; needed {needed}; deploy it again: warmfleet up"
    )
