"""Reads the head of a GGUF file and refuses what does not add up.

Both sides read it: the service before an engine maps a file, the control side to size a model.
llama.cpp checks much of this too, but aborts on some of it, and allocates what a count asks for.
The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import math
import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

__all__ = ["GgufHead", "GgufTensor", "check_gguf", "read_gguf"]

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_MOST_DIMENSIONS: Final = 4
_LONGEST_NAME: Final = 64 * 1024
# What is kept of values: a model's own texts and lists are shorter, a tokenizer's are longer.
_LONGEST_TEXT: Final = 4096
_LONGEST_LIST: Final = 4096

_STRING, _ARRAY = 8, 9
# Form of a value, by the number of its type.
_FIXED: Final = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q",
    12: "<d",
}  # fmt: skip
_LEAST_ENTRY: Final = 8 + 4 + 1  # key, type, value
_LEAST_TENSOR: Final = 8 + 4 + 4 + 8  # name, dimensions, type, offset

# Elements and bytes of a block, by ggml's number of its type (ggml.c, type_traits).
_BLOCKS: Final = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    9: (32, 36), 10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210),
    15: (256, 292), 16: (256, 66), 17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18),
    21: (256, 110), 22: (256, 82), 23: (256, 136), 24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8),
    28: (1, 8), 29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66), 39: (32, 17),
}  # fmt: skip

Scalar = int | float | bool | str


class _File(Protocol):
    """What is needed of a file; it may also be far away."""

    def read(self, size: int, /) -> bytes: ...
    def seek(self, offset: int, whence: int, /) -> int: ...


@dataclass(frozen=True)
class GgufTensor:
    """One tensor; ``kind`` is ggml's number of its type."""

    name: str
    elements: int
    kind: int
    size_bytes: int
    """0 for a type that is newer than this reader."""


@dataclass(frozen=True)
class GgufHead:
    """What a file says of itself before its data."""

    values: dict[str, Scalar | list[Scalar]]
    """Short ones, by key."""
    lengths: dict[str, int]
    """Number of items of every list, also of those too long to keep."""
    tensors: tuple[GgufTensor, ...]


def check_gguf(path: Path) -> None:
    """Refuse a file whose head is no GGUF, or names tensors that the file does not hold.

    Raises:
        ValueError: what was found and what is needed.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        read_gguf(file, os.fstat(file.fileno()).st_size)


def read_gguf(file: _File, size: int) -> GgufHead:
    """Read the head of a file of ``size`` bytes.

    Raises:
        ValueError: what was found and what is needed.
        OSError: the file cannot be read.
    """
    reader = _Reader(file, size)
    magic = reader.take(4, "the magic number")
    if magic != _MAGIC:
        msg = f"found {magic!r} at its start; needed {_MAGIC!r}, a GGUF file"
        raise ValueError(msg)
    if (version := reader.integer("<I", "the version")) not in _VERSIONS:
        msg = f"found GGUF version {version}; needed {' or '.join(map(str, _VERSIONS))}"
        raise ValueError(msg)
    count = reader.count("tensors", _LEAST_TENSOR)
    head = GgufHead({}, {}, ())
    for _ in range(reader.count("entries", _LEAST_ENTRY)):
        _entry(reader, head)
    if count == 0:
        msg = "found no tensor; needed a model"
        raise ValueError(msg)
    alignment = head.values.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment == 0 or alignment % 8:
        msg = f"found general.alignment {alignment}; needed a multiple of 8"
        raise ValueError(msg)
    placed = [_tensor(reader, number) for number in range(count)]
    start = math.ceil(reader.position / alignment) * alignment
    for tensor, offset in placed:
        if (end := start + offset + tensor.size_bytes) > size:
            msg = (
                f"found the end of tensor {tensor.name[:64]} at byte {end}; needed within the "
                f"file of {size} bytes"
            )
            raise ValueError(msg)
    return GgufHead(head.values, head.lengths, tuple(tensor for tensor, _ in placed))


class _Reader:
    """Takes values off the front of a file, never more than it holds."""

    def __init__(self, file: _File, size: int) -> None:
        self._file = file
        self.size = size
        self.position = 0

    def take(self, length: int, what: str) -> bytes:
        self._must_hold(length, what)
        self.position += length
        return self._file.read(length)

    def skip(self, length: int, what: str) -> None:
        self._must_hold(length, what)
        self.position += length
        self._file.seek(length, os.SEEK_CUR)

    def number(self, form: str, what: str) -> int | float:
        (value,) = struct.unpack(form, self.take(struct.calcsize(form), what))
        return value  # type: ignore[no-any-return]

    def integer(self, form: str, what: str) -> int:
        return int(self.number(form, what))

    def count(self, what: str, least_bytes: int) -> int:
        number = self.integer("<Q", f"the number of {what}")
        self._must_hold(number * least_bytes, f"{number} {what}")
        return number

    def name(self, what: str) -> str:
        length = self.integer("<Q", f"the length of {what}")
        if length > _LONGEST_NAME:
            msg = f"found {what} of {length} bytes; needed at most {_LONGEST_NAME}"
            raise ValueError(msg)
        return self.take(length, what).decode(errors="replace")

    def text(self, what: str) -> str | None:
        """Return a text, None for one that is too long to be of use."""
        length = self.integer("<Q", what)
        if length > _LONGEST_TEXT:
            self.skip(length, what)
            return None
        return self.take(length, what).decode(errors="replace")

    def skip_texts(self, count: int, what: str) -> None:
        for _ in range(count):
            (length,) = struct.unpack("<Q", self.take(8, what))
            self.skip(length, what)

    def _must_hold(self, length: int, what: str) -> None:
        left = self.size - self.position
        if length > left:
            msg = f"found {left} bytes where {what} should be; needed {length} or more"
            raise ValueError(msg)


def _entry(reader: _Reader, head: GgufHead) -> None:
    key = reader.name("a key")
    what = f"the value of {key[:64]}"
    kind = reader.integer("<I", what)
    if kind == _ARRAY:
        _list(reader, head, key, what)
        return
    value = reader.text(what) if kind == _STRING else reader.number(_form(kind, what), what)
    if value is not None:
        head.values[key] = value


def _list(reader: _Reader, head: GgufHead, key: str, what: str) -> None:
    kind = reader.integer("<I", what)
    form = "<Q" if kind == _STRING else _form(kind, what)  # the length before a text
    length = reader.count(f"items of {what}", struct.calcsize(form))
    if kind == _STRING:
        reader.skip_texts(length, what)
    elif length > _LONGEST_LIST:
        reader.skip(length * struct.calcsize(form), what)
    else:
        head.values[key] = [reader.number(form, what) for _ in range(length)]
    head.lengths[key] = length


def _form(kind: int, what: str) -> str:
    if kind not in _FIXED:
        msg = f"found type {kind} for {what}; needed a type of GGUF"
        raise ValueError(msg)
    return _FIXED[kind]


def _tensor(reader: _Reader, number: int) -> tuple[GgufTensor, int]:
    """Return a tensor and the offset of its data, in bytes from the start of all data."""
    name = reader.name(f"the name of tensor {number}")
    what = f"tensor {name[:64]}"
    dimensions = reader.integer("<I", what)
    if not 1 <= dimensions <= _MOST_DIMENSIONS:
        msg = f"found {dimensions} dimensions of {what}; needed 1 to {_MOST_DIMENSIONS}"
        raise ValueError(msg)
    elements = math.prod(reader.integer("<Q", what) for _ in range(dimensions))
    kind = reader.integer("<I", what)
    offset = reader.integer("<Q", what)
    # A type that is newer than this table is left to the engine.
    block, block_bytes = _BLOCKS.get(kind, (1, 0))
    if elements % block:
        msg = f"found {elements} elements of {what}; needed a multiple of {block}, for its type"
        raise ValueError(msg)
    return GgufTensor(name, elements, kind, elements // block * block_bytes), offset
