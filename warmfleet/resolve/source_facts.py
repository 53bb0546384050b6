"""What files of weights say of a model, before it is known what asked for them."""

from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct, field

from warmfleet.catalog.architecture import Architecture
from warmfleet.resolve.model_facts import FileFacts, ModelFacts, WeightsFormat
from warmfleet.resolve.store import Chunk
from warmfleet.spec.sources import SourceSpec

__all__ = ["SourceFacts", "file_facts", "named"]


class SourceFacts(Struct, frozen=True):
    """What the files say; see ``ModelFacts``."""

    format: WeightsFormat
    architecture: Architecture
    precision: str
    files: tuple[FileFacts, ...]
    name: str | None = None
    group_size: int | None = None
    tensor_bytes: int | None = None
    revision: str | None = None
    found_in: dict[str, str] = field(default_factory=dict)

    def of(self, source: SourceSpec, name: str, *, sha256: str | None = None) -> ModelFacts:
        """Return the facts of a source; ``sha256`` is that of its one file, where it was read."""
        files = self.files
        if sha256 is not None:
            files = tuple(file.model_copy(update={"sha256": sha256}) for file in files)
        return ModelFacts(
            source=source,
            name=name,
            revision=self.revision,
            format=self.format,
            architecture=self.architecture,
            precision=self.precision,
            group_size=self.group_size,
            files=files,
            tensor_bytes=self.tensor_bytes,
            found_in=self.found_in,
        )


def file_facts(path: str, chunk: Chunk) -> FileFacts:
    """Return the facts of a file from any part of it that was read.

    Raises:
        ValueError: the file is empty.
    """
    if chunk.size == 0:
        msg = f"{path}: found an empty file; needed weights"
        raise ValueError(msg)
    return FileFacts(path=path, size_bytes=chunk.size, sha256=chunk.sha256)


@contextmanager
def named(path: str) -> Iterator[None]:
    """Put the path of a file before what is wrong in it."""
    try:
        yield
    except ValueError as error:
        msg = f"{path}: {error}"
        raise ValueError(msg) from error
