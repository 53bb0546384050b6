"""Files of weights in a folder of this machine."""

import os
import stat
from pathlib import Path

from warmfleet.resolve.store import Chunk, SourceMissingError, SourceUnreachableError

__all__ = ["FolderStore"]


class FolderStore:
    """Files below one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, path: str, *, start: int, length: int) -> Chunk:
        """Return a part of a file; see ``Store.read``."""
        file = self._folder / path
        try:
            # Not opened unless it is a file: a pipe would wait for a writer, a device has no end.
            status = file.stat()
            if not stat.S_ISREG(status.st_mode):
                msg = f"{path}: found no regular file; needed a file of weights"
                raise ValueError(msg)
            with file.open("rb") as opened:
                opened.seek(start)
                return Chunk(opened.read(length), os.fstat(opened.fileno()).st_size)
        except FileNotFoundError as error:
            raise SourceMissingError(path) from error
        except OSError as error:
            msg = f"{path}: {error.strerror}"
            raise SourceUnreachableError(msg) from error
