"""Command lines, variables and project files that are wrong: one line each, in full."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from warmfleet.project import PROJECT_VARIABLE, Project


def _remove(name: str) -> Callable[[Path], None]:
    return lambda root: (root / name).unlink()


def _folder(name: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        (root / name).unlink(missing_ok=True)
        (root / name).mkdir()

    return change


def _pipe(name: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        (root / name).unlink(missing_ok=True)
        os.mkfifo(root / name)

    return change


def _loop(name: str) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        (root / name).unlink(missing_ok=True)
        (root / name).symlink_to(Path(name).name)

    return change


def _text(name: str, text: bytes) -> Callable[[Path], None]:
    return lambda root: (root / name).write_bytes(text) and None


def _filled(said: str, root: Path | str) -> str:
    return said.replace("SPECS", f"{root}/specs").replace("ROOT", str(root))


def _nothing(_root: Path) -> None:
    pass


NO_PROJECT = "no Pulumi.yaml in ROOT; run in a project folder or set WARMFLEET_PROJECT"
WRITE = "run: warmfleet plan test --write"


@pytest.mark.parametrize(
    ("arguments", "change", "said", "status"),
    [
        (["plan", "tset"], _nothing, "no environment 'tset' in SPECS; did you mean 'test'?", 2),
        (["plan", "prod"], _nothing, "no environment 'prod' in SPECS (environments: test)", 2),
        (["plan", "TEST"], _nothing, "no environment 'TEST' in SPECS; did you mean 'test'?", 2),
        (
            ["plan", "/etc/passwd"],
            _nothing,
            "no environment '/etc/passwd' in SPECS (environments: test)",
            2,
        ),
        (["plan", ""], _nothing, "no environment '' in SPECS (environments: test)", 2),
        (["plan", "a\nb"], _nothing, "no environment 'a\\nb' in SPECS (environments: test)", 2),
        (
            ["plan", "a\0b"],
            _nothing,
            "no environment 'a\\x00b' in SPECS (environments: test)",
            2,
        ),
        (
            ["plan", f"{'x' * 300}.yaml"],
            _nothing,
            f"no spec {'x' * 300}.yaml; needed a file, or the name of an environment",
            2,
        ),
        (
            ["plan", "x" * 5000],
            _nothing,
            f"no environment '{'x' * 56}... in SPECS (environments: test)",
            2,
        ),
        (["down", "tset"], _nothing, "no environment 'tset' in SPECS; did you mean 'test'?", 2),
        (["status", "tset"], _nothing, "no environment 'tset' in SPECS; did you mean 'test'?", 2),
        (
            ["plan", "none.yaml"],
            _nothing,
            "no spec none.yaml; needed a file, or the name of an environment",
            2,
        ),
        (["plan", "test"], _remove("Pulumi.yaml"), NO_PROJECT, 2),
        (["plan", "test"], _folder("Pulumi.yaml"), NO_PROJECT, 2),
        (["status", "test"], _remove("Pulumi.yaml"), NO_PROJECT, 2),
        (
            ["plan", "test"],
            _remove("specs/test.yaml"),
            "no environment 'test' in SPECS (environments: none)",
            2,
        ),
        *(
            (
                ["plan", "test"],
                change("specs/test.yaml"),
                "no environment 'test' in SPECS (environments: none)",
                2,
            )
            for change in (_folder, _pipe, _loop)
        ),
        (
            ["plan", "test"],
            _text("specs/test.yaml", b""),
            "ROOT/specs/test.yaml: found null; needed fields as NAME: VALUE",
            2,
        ),
        (
            ["plan", "test", "--check"],
            _remove("plans/test.json"),
            f"plan ROOT/plans/test.json is missing; {WRITE}",
            3,
        ),
        (
            ["plan", "test", "--check"],
            _folder("plans/test.json"),
            f"plan ROOT/plans/test.json is not readable (Is a directory); {WRITE}",
            3,
        ),
        (
            ["plan", "test", "--write"],
            _folder("plans/test.json"),
            "plan ROOT/plans/test.json cannot be written: Is a directory; "
            "needed a file of this user",
            1,
        ),
        (
            ["plan", "test", "--check"],
            _text("plans/test.json", b"{"),
            "plan ROOT/plans/test.json is not readable (not JSON: Expecting property name enclosed "
            f"in double quotes (line 1, column 2)); {WRITE}",
            3,
        ),
        (
            ["plan", "test", "--check"],
            _text("plans/test.json", b'{"schema_version": 99}'),
            f"plan ROOT/plans/test.json has schema version 99, needed 1; {WRITE}",
            3,
        ),
        (
            ["status", "test"],
            _text(".warmfleet", b""),
            "ROOT/.warmfleet is no folder that this user can write; who ran warmfleet first owns "
            "it: run it as that user, or give the folder away (sudo chown -R $USER "
            "ROOT/.warmfleet)",
            1,
        ),
    ],
)  # fmt: skip
@pytest.mark.timeout(30)
def test_one_line_in_full(
    arguments: list[str],
    change: Callable[[Path], None],
    said: str,
    status: int,
    run,
    project: Project,
) -> None:
    shutil.rmtree(project.root / ".warmfleet", ignore_errors=True)
    change(project.root)

    result = run(*arguments)

    assert result.stderr == f"error: {_filled(said, project.root)}\n"
    assert result.exit_code == status


@pytest.mark.parametrize(
    ("value", "looked"),
    [("/nowhere", "/nowhere"), ("/dev/null", "/dev/null"), ("x" * 300, "x" * 300)],
)
def test_a_variable_that_names_no_project(
    value: str, looked: str, run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PROJECT_VARIABLE, value)

    result = run("plan", "test")

    assert result.stderr == f"error: {_filled(NO_PROJECT, looked)}\n"
    assert result.exit_code == 2
