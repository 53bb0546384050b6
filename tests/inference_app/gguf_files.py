"""Writes small GGUF files, right ones and wrong ones."""

import struct

__all__ = ["gguf", "tensor"]

F32, Q4_1 = 0, 3


def text(value: bytes, length: int | None = None) -> bytes:
    return struct.pack("<Q", len(value) if length is None else length) + value


def entry(key: bytes, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def tensor(
    name: bytes = b"w",
    dimensions: tuple[int, ...] = (32, 2),
    kind: int = Q4_1,
    offset: int = 0,
    *,
    count: int | None = None,
) -> bytes:
    head = text(name) + struct.pack("<I", len(dimensions) if count is None else count)
    return head + struct.pack(f"<{len(dimensions)}QIQ", *dimensions, kind, offset)


def gguf(
    *,
    magic: bytes = b"GGUF",
    version: int = 3,
    tensors: tuple[bytes, ...] = (tensor(),),
    entries: tuple[bytes, ...] = (
        entry(b"general.alignment", 4, struct.pack("<I", 32)),
        entry(b"general.name", 8, text(b"tiny")),
        entry(b"tokens", 9, struct.pack("<IQ", 8, 2) + text(b"a") + text(b"b")),
        entry(b"scores", 9, struct.pack("<IQ", 6, 2) + bytes(8)),
        entry(b"flag", 7, b"\1"),
    ),
    tensor_count: int | None = None,
    entry_count: int | None = None,
    data_bytes: int = 40,
) -> bytes:
    """Return a file; the defaults make a right one."""
    counts = (
        len(tensors) if tensor_count is None else tensor_count,
        len(entries) if entry_count is None else entry_count,
    )
    head = magic + struct.pack("<IQQ", version, *counts) + b"".join(entries) + b"".join(tensors)
    return head + bytes(-len(head) % 32) + bytes(data_bytes)
