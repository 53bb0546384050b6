"""A revision becomes visible whole and right, or not at all."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

WEIGHTS = b"GGUF" + b"tensors " * 1000


@pytest.fixture(scope="module")
def module(load_module: Callable[[str, str], ModuleType]) -> ModuleType:
    return load_module("model_store", "model_revision")


@pytest.fixture
def make(module: ModuleType, tmp_path: Path) -> Callable[..., Any]:
    """Return a function that makes a revision whose copy lies in the staging folder."""

    def build(
        content: bytes | None = WEIGHTS,
        revision: str = "one",
        file_name: str = "m.gguf",
        **other: Any,
    ) -> Any:
        model = {
            "name": "chat",
            "revision": revision,
            "file_name": file_name,
            "sha256": hashlib.sha256(content or WEIGHTS).hexdigest(),
            "size_bytes": len(content or WEIGHTS),
        }
        made = module.Revision(tmp_path, model | other)
        made.staging.mkdir(parents=True)
        if content is not None:
            (made.staging / file_name).write_bytes(content)
        return made

    return build


def test_a_right_copy_is_published_whole(make: Callable[..., Any]) -> None:
    revision = make()
    assert not revision.is_verified()
    revision.publish(os.getgid())
    assert revision.is_verified()
    assert not revision.is_current()
    assert not revision.staging.exists()
    status = (revision.folder / "m.gguf").stat()
    stamp = f"{revision.sha256} {status.st_size} {status.st_mtime_ns}\n"
    assert (revision.folder / ".verified").read_text() == stamp
    revision.make_current()
    assert revision.is_current()
    assert os.readlink(revision.link) == "one"


def test_what_is_no_whole_copy_is_a_draft(make: Callable[..., Any]) -> None:
    revision = make()
    assert revision.drafts() == []
    left = revision.staging / ".ansible_mitogen_transfer-x.tmp"
    left.write_bytes(b"GGUF")
    assert revision.drafts() == [left]
    (revision.staging / "m.gguf").write_bytes(WEIGHTS[:-1])
    assert sorted(revision.drafts()) == [left, revision.staging / "m.gguf"]
    assert sum(revision.staged().values()) == len(WEIGHTS) - 1 + 4


def test_what_is_left_of_a_revision_that_is_wanted_no_longer_goes_too(
    make: Callable[..., Any],
) -> None:
    old, new = make(WEIGHTS[:-1], revision="one"), make(revision="two")
    assert new.drafts() == [old.staging / "m.gguf"]
    assert sum(new.staged().values()) == 2 * len(WEIGHTS) - 1, "it counts as free"
    new.sweep()
    assert not old.staging.exists()
    assert list(new.staged()) == [new.staging / "m.gguf"]


@pytest.mark.parametrize(
    ("content", "other", "reason"),
    [
        (WEIGHTS, {"sha256": "f" * 64}, "found sha256"),
        (WEIGHTS, {"size_bytes": 7}, f"found {len(WEIGHTS)} bytes; needed: 7"),
        (b"\x80\x04pickled", {}, "found no GGUF or safetensors header"),
        (b"\xff" * 64, {"file_name": "m.safetensors"}, "found no GGUF or safetensors header"),
        (None, {}, "found no copy"),
    ],
    ids=["wrong bytes", "wrong size", "pickle", "header longer than the file", "no copy"],
)
def test_a_wrong_copy_is_never_visible(
    module: ModuleType,
    make: Callable[..., Any],
    content: bytes | None,
    other: dict[str, Any],
    reason: str,
) -> None:
    revision = make(content, **other)
    with pytest.raises(module.RevisionError, match=reason):
        revision.publish(os.getgid())
    assert not revision.folder.exists()
    assert not revision.staging.exists()


def test_a_wrong_copy_leaves_the_revision_in_use_alone(
    module: ModuleType, make: Callable[..., Any]
) -> None:
    first = make(revision="one")
    first.publish(os.getgid())
    first.make_current()
    second = make(revision="two", sha256="f" * 64)
    with pytest.raises(module.RevisionError):
        second.publish(os.getgid())
    assert first.is_current()


def test_safetensors_are_known_by_their_header(make: Callable[..., Any]) -> None:
    header = b'{"__metadata__":{}}'
    revision = make(len(header).to_bytes(8, "little") + header, file_name="m.safetensors")
    revision.publish(os.getgid())
    assert revision.is_verified()


def test_current_moves_from_one_revision_to_the_next(make: Callable[..., Any]) -> None:
    first, second = make(revision="one"), make(revision="two")
    for revision in (first, second):
        revision.publish(os.getgid())
        revision.make_current()
    assert second.is_current()
    assert not first.is_current()
    assert first.is_verified()


@pytest.mark.parametrize("damage", ["cut", "changed", "marker of other bytes", "marker gone"])
def test_a_damaged_revision_is_not_verified_and_is_published_anew(
    make: Callable[..., Any], damage: str
) -> None:
    revision = make()
    revision.publish(os.getgid())
    if damage == "cut":
        (revision.folder / "m.gguf").write_bytes(WEIGHTS[:-1])
    elif damage == "changed":
        with (revision.folder / "m.gguf").open("r+b") as file:
            file.write(b"GGUf")
    elif damage == "marker gone":
        (revision.folder / ".verified").unlink()
    else:
        (revision.folder / ".verified").write_text("0" * 64)
    assert not revision.is_verified()
    again = make()
    again.publish(os.getgid())
    assert again.is_verified()
