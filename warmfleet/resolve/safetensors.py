"""Header of a safetensors file, and the index of a model in several files.

The format: https://github.com/huggingface/safetensors#format. What the reference reader refuses is
refused here, and sizes are checked before anything is allocated: the bytes may come from anywhere.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from inference_app.problems import read_json, shown

__all__ = ["HEAD_BYTES", "Tensor", "header_bytes", "parse_header", "parse_index"]

HEAD_BYTES: Final = 8
"""The length of the header, before it."""

_MOST_BYTES: Final = 100_000_000
"""Of a header: the limit of the reference reader."""

_MOST_DIMENSIONS: Final = 16

_BITS: Final = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8,
    "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32,
    "F32": 32, "I64": 64, "U64": 64, "F64": 64, "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6,
}  # fmt: skip
_FILE: Final = re.compile(r"[\w.-]+\.(?:safetensors|bin)", re.ASCII)


class Tensor(Struct, frozen=True):
    """One tensor of a file."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    size_bytes: int

    @property
    def elements(self) -> int:
        """Values, as they are stored: packed ones count as one."""
        return math.prod(self.shape)


def header_bytes(head: bytes, size: int) -> int:
    """Return the length of the header that follows the first 8 bytes of a file of ``size`` bytes.

    Raises:
        ValueError: no safetensors file, or one that is cut.
    """
    if size < HEAD_BYTES or len(head) < HEAD_BYTES:
        msg = f"found a file of {size} bytes; needed a safetensors file"
        raise ValueError(msg)
    length = int.from_bytes(head[:HEAD_BYTES], "little")
    most = min(_MOST_BYTES, size - HEAD_BYTES)
    if not 2 <= length <= most:
        msg = f"found a header of {length} bytes; needed 2 to {most} (a safetensors file)"
        raise ValueError(msg)
    return length


def parse_header(raw: bytes, size: int) -> list[Tensor]:
    """Return the tensors that a header names, in a file of ``size`` bytes.

    Raises:
        ValueError: not a header, or tensors that overlap or do not fill the file.
    """
    header = read_json(raw)
    if not isinstance(header, dict):
        msg = f"found {shown(header)} as header; needed tensors by name"
        raise ValueError(msg)
    placed = [_tensor(name, entry) for name, entry in header.items() if name != "__metadata__"]
    if not placed:
        msg = "found no tensor; needed weights"
        raise ValueError(msg)
    end = 0
    for start, tensor in sorted(placed, key=lambda one: (one[0], one[1].size_bytes)):
        if start != end:
            msg = (
                f"{_short(tensor.name)}: found its data at byte {start}; needed {end}, where those "
                "before it end"
            )
            raise ValueError(msg)
        end = start + tensor.size_bytes
    data = size - HEAD_BYTES - len(raw)
    if end != data:
        msg = f"found {data} bytes of data; needed {end}, as the header says"
        raise ValueError(msg)
    return [tensor for _, tensor in placed]


def parse_index(raw: bytes) -> dict[str, set[str]]:
    """Return the tensors of each file that an index (*.index.json) names.

    Raises:
        ValueError: not an index, or a file outside its folder.
    """
    index = read_json(raw)
    files = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(files, dict) or not files:
        msg = f"weight_map: found {shown(files)}; needed the file of each tensor"
        raise ValueError(msg)
    tensors: dict[str, set[str]] = {}
    for name, file in files.items():
        if not isinstance(file, str) or not _FILE.fullmatch(file):
            msg = f"weight_map.{_short(name)}: found {shown(file)}; needed a file beside the index"
            raise ValueError(msg)
        tensors.setdefault(file, set()).add(name)
    return tensors


def _tensor(name: str, entry: Any) -> tuple[int, Tensor]:
    """Return where a tensor's data begin, and the tensor."""
    if not isinstance(entry, Mapping):
        msg = f"{_short(name)}: found {shown(entry)}; needed dtype, shape and data_offsets"
        raise ValueError(msg)
    dtype = entry.get("dtype")
    if not isinstance(dtype, str) or dtype not in _BITS:
        msg = f"{_short(name)}.dtype: found {shown(dtype)}; needed {', '.join(_BITS)}"
        raise ValueError(msg)
    sizes = _sizes(f"{_short(name)}.shape", entry.get("shape"))
    offsets = _sizes(f"{_short(name)}.data_offsets", entry.get("data_offsets"))
    if len(offsets) != 2 or offsets[0] > offsets[1]:
        msg = f"{_short(name)}.data_offsets: found {list(offsets)}; needed a start and an end"
        raise ValueError(msg)
    size = offsets[1] - offsets[0]
    bits = math.prod(sizes) * _BITS[dtype]
    if 8 * size != bits:
        msg = f"{_short(name)}: found {size} bytes; needed {bits // 8} for {dtype} {list(sizes)}"
        raise ValueError(msg)
    return offsets[0], Tensor(name, dtype, sizes, size)


def _sizes(where: str, found: Any) -> tuple[int, ...]:
    if not isinstance(found, list) or len(found) > _MOST_DIMENSIONS:
        msg = f"{where}: found {shown(found)}; needed a list of a few whole numbers"
        raise ValueError(msg)
    for size in found:
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size < 2**63:
            msg = f"{where}: found {shown(size)}; needed whole numbers"
            raise ValueError(msg)
    return tuple(found)


def _short(name: str) -> str:
    return shown(name).strip("'")
