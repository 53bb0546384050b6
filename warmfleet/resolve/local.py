"""Facts of weights on this machine."""

import hashlib
from pathlib import Path

from warmfleet.catalog.models import Catalog
from warmfleet.errors import SpecError
from warmfleet.resolve.catalog_facts import weights_facts
from warmfleet.resolve.model_facts import ModelFacts
from warmfleet.spec.sources import PathSourceSpec

__all__ = ["local_facts"]


def local_facts(at: str, source: PathSourceSpec, catalog: Catalog, root: Path) -> ModelFacts:
    """Return the facts of a file; it is known by its bytes, whatever its name.

    Raises:
        SpecError: unreadable, or weights that the catalog does not know.
    """
    path = root / source.path
    at = f"{at}.path: {source.path}"
    try:
        # Not opened unless it is a file: a pipe would wait for a writer, a device has no end.
        if not path.is_file() and path.exists():
            msg = f"{at}: found no regular file; needed a file of weights"
            raise SpecError(msg)
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        msg = f"{at}: {error.strerror}; needed a readable file of weights"
        raise SpecError(msg) from error
    for row in catalog.weights:
        if row.sha256 == digest:
            return weights_facts(source, row, catalog)
    known = ", ".join(sorted({row.file for row in catalog.weights}))
    msg = f"{at} has sha256 {digest[:12]}..., which the catalog does not know; "
    raise SpecError(f"{msg}needed one of: {known}")
