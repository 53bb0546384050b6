"""The targets of the Makefile, as ``make`` itself says it would run them."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def planned(*arguments: str) -> list[str]:
    """Return the commands of a target, none of them run."""
    # make tells a make below it about its own options and target.
    ours = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MARKS")
    done = subprocess.run(
        ["make", "--dry-run", *arguments],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in ours},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


def rooms() -> set[str]:
    (line,) = [line for line in planned("help") if "test-ROOM" in line]
    return set(re.sub(r".*: |'", "", line).split())


def test_each_folder_of_tests_is_a_room() -> None:
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert rooms() == {name.replace("_", "-") for name in folders - {"e2e"}}  # its own target


def test_the_tests_of_a_room_need_python_only() -> None:
    assert planned("test-inference-app") == ["tools/venv.sh", "pytest  tests/inference_app"]


@pytest.mark.parametrize(
    ("marks", "prefix"),
    [("engine", ""), ("machine", "tools/as_root.sh "), ("engine and not machine", "")],
)
def test_marked_tests_are_chosen_and_run_as_root_where_they_must(marks: str, prefix: str) -> None:
    last = planned("test-stack", f"MARKS={marks}")[-1]
    assert last == f"{prefix}pytest -m '{marks}' tests/stack"


def test_all_tests_of_the_proxy_need_the_machine() -> None:
    assert planned("test-edge-proxy") == [
        "tools/system.sh test",
        "tools/venv.sh",
        "tools/as_root.sh pytest -m 'machine' tests/edge_proxy",
    ]


def test_another_environment_can_be_named() -> None:
    assert planned("wheelhouse")[-1].endswith(" lab")
    assert planned("wheelhouse", "WARMFLEET_ENVIRONMENT=far")[-1].endswith(" far")


def test_nothing_is_written_twice() -> None:
    commands = " && ".join(planned("docs")).split(" && ")
    assert sorted(set(commands)) == sorted(commands)
