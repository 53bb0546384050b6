"""A folder or one file of weights, whichever store it is in."""

from warmfleet.resolve.gguf_files import read_gguf_files
from warmfleet.resolve.repository import read_repository
from warmfleet.resolve.source_facts import SourceFacts
from warmfleet.resolve.store import Store

__all__ = ["parted", "read_weights"]


def parted(address: str) -> tuple[str, str]:
    """Return folder and file of an address; no file when it is that of a folder."""
    folder, _, last = address.rpartition("/")
    if last.endswith((".gguf", ".safetensors")):
        return folder, last
    return address.rstrip("/"), ""


def read_weights(store: Store, file: str) -> SourceFacts:
    """Read a GGUF file, else config.json with one file of weights, or all when none is named.

    Raises:
        SourceMissingError, SourceUnreachableError: as the store says.
        ValueError: a file is wrong; its path is named.
    """
    return read_gguf_files(store, file) if file.endswith(".gguf") else read_repository(store, file)
