"""Facts of weights on this machine."""

import hashlib
from pathlib import Path

from warmfleet.catalog.models import Catalog
from warmfleet.errors import SpecError
from warmfleet.resolve.catalog_facts import weights_facts
from warmfleet.resolve.model_facts import ModelFacts
from warmfleet.resolve.store import SourceMissingError, SourceUnreachableError
from warmfleet.spec.sources import PathSourceSpec

__all__ = ["local_facts"]


def local_facts(at: str, source: PathSourceSpec, catalog: Catalog, root: Path) -> ModelFacts:
    """Return the facts of a folder, or of a file, which the catalog may know by its bytes.

    Raises:
        SpecError: not there, not readable or no weights.
    """
    field = f"{at}.path"
    at = f"{field}: {source.path}"
    path = root / source.path
    try:
        digest = None if path.is_dir() else _digest(at, path)
    except OSError as error:
        msg = f"{at}: {error.strerror}; needed a readable file of weights"
        raise SpecError(msg) from error
    for row in catalog.weights:
        if row.sha256 == digest:
            return weights_facts(source, row, catalog)
    # Slow to import, and the lab needs neither.
    from warmfleet.resolve.folder_store import FolderStore
    from warmfleet.resolve.weights_files import parted, read_weights

    folder, file = (str(path), "") if digest is None else parted(str(path))
    if digest is not None and not file:
        msg = f"{at}: found a file of another kind; needed .gguf, .safetensors, or a folder"
        raise SpecError(msg)
    try:
        found = read_weights(FolderStore(Path(folder)), file)
    except SourceMissingError as error:
        msg = f"{at}: found no {error} in the folder; needed weights with config.json"
        raise SpecError(msg) from error
    except (SourceUnreachableError, ValueError) as error:
        # It begins with the name of the file.
        raise SpecError(f"{field}: {error}" if file else f"{at}: {error}") from error
    return found.of(source, found.name or path.stem, sha256=digest)


def _digest(at: str, path: Path) -> str:
    # Not opened unless it is a file: a pipe would wait for a writer, a device has no end.
    if not path.is_file() and path.exists():
        msg = f"{at}: found no regular file; needed a file of weights"
        raise SpecError(msg)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
