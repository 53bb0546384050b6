"""Facts of the weights in one GGUF file, or in several that belong together."""

import re
from typing import Final

from inference_app.gguf import read_gguf
from warmfleet.resolve.gguf_model import parse_gguf
from warmfleet.resolve.source_facts import SourceFacts, file_facts, named
from warmfleet.resolve.store import RangedFile, Store

__all__ = ["read_gguf_files"]

_PART: Final = re.compile(r"(.*)-00001-of-(\d{5})\.gguf")
_OTHER_PART: Final = re.compile(r".*-\d{5}-of-\d{5}\.gguf")


def read_gguf_files(store: Store, path: str) -> SourceFacts:
    """Read the head of a GGUF file, and of its other parts when it is the first of several.

    Raises:
        SourceMissingError, SourceUnreachableError: as the store says.
        ValueError: the file is wrong; its path is named.
    """
    heads, files, revision = [], [], None
    for part in _parts(path):
        file = RangedFile(store, part)
        with named(part):
            heads.append(read_gguf(file, file.size))
        files.append(file_facts(part, file.first))
        revision = revision or file.first.revision
    with named(path):
        model = parse_gguf(heads)
    return SourceFacts(
        format="gguf",
        architecture=model.architecture,
        precision=model.precision,
        files=tuple(files),
        name=model.name,
        tensor_bytes=model.tensor_bytes,
        revision=revision,
        found_in=dict.fromkeys(("architecture", "precision", "files"), f"head of {path}"),
    )


def _parts(path: str) -> list[str]:
    first = _PART.fullmatch(path)
    if first is None:
        if _OTHER_PART.fullmatch(path):
            msg = f"{path}: found a later part; needed the first of them, -00001-of-..."
            raise ValueError(msg)
        return [path]
    return [f"{first[1]}-{part + 1:05}-of-{first[2]}.gguf" for part in range(int(first[2]))]
