"""Reads the head of a GGUF file and refuses what does not add up.

llama.cpp checks much of this too, but aborts on some of it, and allocates what a count asks for.
The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import math
import os
import struct
from pathlib import Path
from typing import Any, BinaryIO, Final

__all__ = ["check_gguf"]

_MAGIC: Final = b"GGUF"
_VERSIONS: Final = (2, 3)
_MOST_DIMENSIONS: Final = 4
_LONGEST_NAME: Final = 64 * 1024

_UINT32, _STRING, _ARRAY = 4, 8, 9
# Bytes of a value, by the number of its type.
_FIXED: Final = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
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


def check_gguf(path: Path) -> None:
    """Refuse a file whose head is no GGUF, or names tensors that the file does not hold.

    Raises:
        ValueError: what was found and what is needed.
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        reader = _Reader(file)
        magic = reader.take(4, "the magic number")
        if magic != _MAGIC:
            msg = f"found {magic!r} at its start; needed {_MAGIC!r}, a GGUF file"
            raise ValueError(msg)
        if (version := reader.number("<I", "the version")) not in _VERSIONS:
            msg = f"found GGUF version {version}; needed {' or '.join(map(str, _VERSIONS))}"
            raise ValueError(msg)
        tensors = reader.count("tensors", _LEAST_TENSOR)
        alignment = 32
        for _ in range(reader.count("entries", _LEAST_ENTRY)):
            key, value = _entry(reader)
            if key == b"general.alignment" and isinstance(value, int):
                alignment = value
        if tensors == 0:
            msg = "found no tensor; needed a model"
            raise ValueError(msg)
        if alignment == 0 or alignment % 8:
            msg = f"found general.alignment {alignment}; needed a multiple of 8"
            raise ValueError(msg)
        ends = [_tensor(reader, number) for number in range(tensors)]
        start = math.ceil(reader.position / alignment) * alignment
        for name, end in ends:
            if start + end > reader.size:
                msg = (
                    f"found the end of tensor {name.decode(errors='replace')[:64]} at byte "
                    f"{start + end}; needed within the file of {reader.size} bytes"
                )
                raise ValueError(msg)


class _Reader:
    """Takes values off the front of a file, never more than it holds."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.size = os.fstat(file.fileno()).st_size
        self.position = 0

    def take(self, length: int, what: str) -> bytes:
        self._must_hold(length, what)
        self.position += length
        return self._file.read(length)

    def skip(self, length: int, what: str) -> None:
        self._must_hold(length, what)
        self.position += length
        self._file.seek(length, os.SEEK_CUR)

    def number(self, form: str, what: str) -> int:
        (value,) = struct.unpack(form, self.take(struct.calcsize(form), what))
        return int(value)

    def count(self, what: str, least_bytes: int) -> int:
        number = self.number("<Q", f"the number of {what}")
        self._must_hold(number * least_bytes, f"{number} {what}")
        return number

    def text(self, what: str) -> bytes:
        length = self.number("<Q", f"the length of {what}")
        if length > _LONGEST_NAME:
            msg = f"found {what} of {length} bytes; needed at most {_LONGEST_NAME}"
            raise ValueError(msg)
        return self.take(length, what)

    def _must_hold(self, length: int, what: str) -> None:
        left = self.size - self.position
        if length > left:
            msg = f"found {left} bytes where {what} should be; needed {length} or more"
            raise ValueError(msg)


def _entry(reader: _Reader) -> tuple[bytes, Any]:
    key = reader.text("a key")
    what = f"the value of {key.decode(errors='replace')[:64]}"
    kind = reader.number("<I", what)
    if kind == _UINT32:
        return key, reader.number("<I", what)
    if kind == _ARRAY:
        _skip_array(reader, what)
    else:
        _skip_value(reader, kind, what)
    return key, None


def _skip_array(reader: _Reader, what: str) -> None:
    kind = reader.number("<I", what)
    length = reader.count(f"items of {what}", _FIXED.get(kind, 8))
    if kind in _FIXED:
        reader.skip(length * _FIXED[kind], what)
        return
    for _ in range(length):
        _skip_value(reader, kind, what)


def _skip_value(reader: _Reader, kind: int, what: str) -> None:
    if kind == _STRING:
        reader.skip(reader.number("<Q", what), what)
    elif kind in _FIXED:
        reader.skip(_FIXED[kind], what)
    else:
        msg = f"found type {kind} for {what}; needed a type of GGUF"
        raise ValueError(msg)


def _tensor(reader: _Reader, number: int) -> tuple[bytes, int]:
    """Return name and end of a tensor's data, in bytes from the start of all data."""
    name = reader.text(f"the name of tensor {number}")
    what = f"tensor {name.decode(errors='replace')[:64]}"
    dimensions = reader.number("<I", what)
    if not 1 <= dimensions <= _MOST_DIMENSIONS:
        msg = f"found {dimensions} dimensions of {what}; needed 1 to {_MOST_DIMENSIONS}"
        raise ValueError(msg)
    elements = math.prod(reader.number("<Q", what) for _ in range(dimensions))
    kind = reader.number("<I", what)
    offset = reader.number("<Q", what)
    # A type that is newer than this table is left to the engine.
    block, block_bytes = _BLOCKS.get(kind, (1, 0))
    if elements % block:
        msg = f"found {elements} elements of {what}; needed a multiple of {block}, for its type"
        raise ValueError(msg)
    return name, offset + elements // block * block_bytes
