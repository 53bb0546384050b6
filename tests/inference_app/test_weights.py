"""An engine gets to see only weights that are whole and the deployed ones."""

import hashlib
import os
import struct
import tracemalloc
from pathlib import Path

import pytest

from inference_app.engines import weights
from inference_app.engines.weights import check_weights
from inference_app.errors import EngineError
from inference_app.gguf import check_gguf
from tests.inference_app.gguf_files import F32, entry, gguf, tensor, text

LARGE = 2**62
MANY_ITEMS = (
    f"found 87 bytes where {LARGE} items of the value of k should be; needed {8 * LARGE} or more"
)
WRONG = {
    "empty": (b"", "found 0 bytes where the magic number should be; needed 4 or more"),
    "text": (b"no weights", "found b'no w' at its start; needed b'GGUF', a GGUF file"),
    "HTML": (b"<!DOCTYPE html>", "found b'<!DO' at its start; needed b'GGUF', a GGUF file"),
    "a pickle": (b"\x80\x04", "found 2 bytes where the magic number should be; needed 4 or more"),
    "magic alone": (b"GGUF", "found 0 bytes where the version should be; needed 4 or more"),
    "version 1": (gguf(version=1), "found GGUF version 1; needed 2 or 3"),
    "big endian": (gguf(version=3 << 24), "found GGUF version 50331648; needed 2 or 3"),
    "all ones": (b"GGUF" + b"\xff" * 64, "found GGUF version 4294967295; needed 2 or 3"),
    "2^63 tensors": (
        gguf(tensor_count=2**63),
        f"found 280 bytes where {2**63} tensors should be; needed {24 * 2**63} or more",
    ),
    "2^63 entries": (
        gguf(entry_count=2**63),
        f"found 272 bytes where {2**63} entries should be; needed {13 * 2**63} or more",
    ),
    "no tensor": (gguf(tensors=()), "found no tensor; needed a model"),
    "a key of 2^62 bytes": (
        gguf(entries=(text(b"k", LARGE),)),
        f"found a key of {LARGE} bytes; needed at most 65536",
    ),
    "a text of 2^62 bytes": (
        gguf(entries=(entry(b"k", 8, text(b"v", LARGE)),)),
        f"found 91 bytes where the value of k should be; needed {LARGE} or more",
    ),
    "2^62 numbers": (
        gguf(entries=(entry(b"k", 9, struct.pack("<IQ", 10, LARGE)),)),
        MANY_ITEMS,
    ),
    "2^62 texts": (
        gguf(entries=(entry(b"k", 9, struct.pack("<IQ", 8, LARGE)),)),
        MANY_ITEMS,
    ),
    "lists in lists": (
        gguf(entries=(entry(b"k", 9, struct.pack("<IQ", 9, 1)),)),
        "found type 9 for the value of k; needed a type of GGUF",
    ),
    "an unknown type": (
        gguf(entries=(entry(b"k", 13, b""),)),
        "found type 13 for the value of k; needed a type of GGUF",
    ),
    "no alignment": (
        gguf(entries=(entry(b"general.alignment", 4, bytes(4)),)),
        "found general.alignment 0; needed a multiple of 8",
    ),
    "no dimension": (
        gguf(tensors=(tensor(dimensions=()),)),
        "found 0 dimensions of tensor w; needed 1 to 4",
    ),
    "five dimensions": (
        gguf(tensors=(tensor(dimensions=(1,) * 5),)),
        "found 5 dimensions of tensor w; needed 1 to 4",
    ),
    "2^31 dimensions": (
        gguf(tensors=(tensor(count=2**31),)),
        "found 2147483648 dimensions of tensor w; needed 1 to 4",
    ),
    "dimensions that overflow": (
        gguf(tensors=(tensor(dimensions=(2**32, 2**32, 2**32), kind=F32),)),
        f"found the end of tensor w at byte {2**98 + 256}; needed within the file of 296 bytes",
    ),
    "half a block": (
        gguf(tensors=(tensor(dimensions=(31, 1)),)),
        "found 31 elements of tensor w; needed a multiple of 32, for its type",
    ),
    "a tensor beyond the end": (
        gguf(data_bytes=39),
        "found the end of tensor w at byte 296; needed within the file of 295 bytes",
    ),
    "an offset beyond the end": (
        gguf(tensors=(tensor(offset=2**63),)),
        f"found the end of tensor w at byte {2**63 + 296}; needed within the file of 296 bytes",
    ),
}  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "model.gguf"


def test_a_right_file_passes(file: Path) -> None:
    for content in (gguf(), gguf(version=2), gguf(tensors=(tensor(), tensor(b"v", offset=0)))):
        file.write_bytes(content)
        check_gguf(file)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_head_is_told_in_full(name: str, file: Path) -> None:
    content, said = WRONG[name]
    file.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="needed") as caught:
            check_gguf(file)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert str(caught.value) == said


def test_a_file_cut_anywhere_is_refused(file: Path) -> None:
    whole = gguf()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="; needed "):
            check_gguf(file)


def test_no_single_bit_gets_more_than_a_refusal(file: Path) -> None:
    whole = gguf()
    refused = 0
    for bit in range(8 * len(whole)):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        file.write_bytes(changed)
        try:
            check_gguf(file)
        except ValueError:  # and no other
            refused += 1
    assert refused > len(whole)


def test_random_bytes_get_no_more_than_a_refusal(file: Path) -> None:
    for seed in range(200):
        noise = hashlib.shake_256(seed.to_bytes(2, "big")).digest(400)
        file.write_bytes(b"GGUF\3\0\0\0" + noise)
        with pytest.raises(ValueError, match="; needed "):
            check_gguf(file)


def _deployed(file: Path) -> tuple[int, str]:
    content = gguf()
    file.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    status = file.stat()
    marker = file.with_name(".verified")
    marker.write_text(f"{digest} {status.st_size} {status.st_mtime_ns}\n")
    return len(content), digest


def test_deployed_weights_are_not_read_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size, digest = _deployed(file)
    monkeypatch.setattr(weights.hashlib, "file_digest", None)
    assert check_weights(file, size, digest) == "marker"


@pytest.mark.parametrize("marker", [None, b"", b"\xff\xfe", b"0" * 64 + b" 1 2\n"])
def test_weights_that_nobody_vouches_for_are_read(file: Path, marker: bytes | None) -> None:
    size, digest = _deployed(file)
    path = file.with_name(".verified")
    if marker is None:
        path.unlink()
    else:
        path.write_bytes(marker)
    assert check_weights(file, size, digest) == "sha256"


def test_weights_that_changed_on_the_disk_are_refused(file: Path) -> None:
    size, digest = _deployed(file)
    changed = bytearray(file.read_bytes())
    changed[-1] ^= 1
    file.write_bytes(changed)
    os.utime(file, ns=(0, file.stat().st_mtime_ns + 1))  # whatever the clock's steps are
    with pytest.raises(EngineError) as caught:
        check_weights(file, size, digest)
    found = hashlib.sha256(changed).hexdigest()
    assert str(caught.value) == (
        f"model.path {file}: found sha256 {found}; needed {digest}, as deployed; "
        "deploy it again: warmfleet up"
    )


def test_weights_of_another_size_are_refused_unread(file: Path) -> None:
    size, digest = _deployed(file)
    with pytest.raises(EngineError) as caught:
        check_weights(file, size + 1, digest)
    assert f"found {size} bytes; needed {size + 1}, as deployed" in str(caught.value)


def test_weights_that_are_not_there_are_refused(file: Path) -> None:
    with pytest.raises(EngineError, match="No such file or directory; needed a GGUF file"):
        check_weights(file, 1, "0" * 64)
