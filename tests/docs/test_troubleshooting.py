"""The lines in the README's troubleshooting table are those that the code writes."""

import ast
import re
import shutil
from functools import cache
from pathlib import Path

import pytest

from tests.docs.documents import ROOT, Document
from warmfleet.errors import PlanRefusedError, PlanStaleError, SpecError
from warmfleet.plan.lock import check_lock, plan_environment
from warmfleet.project import Project

TABLE = Document("README.md").text.partition("## Troubleshooting")[2].partition("\n## ")[0]
LINES = [
    line
    for row in re.findall(r"^\| (.+?) \|", TABLE, flags=re.MULTILINE)
    for line in re.findall(r"`((?:error|tools): [^`]+)`", row)
]
HOLE = "\0"
CODE = ("inference_app", "tools", "warmfleet")


def _texts_of(path: Path) -> list[str]:
    """Return the strings of a Python file, a hole for each value that is put into them."""
    texts = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.JoinedStr):
            parts = [str(p.value) if isinstance(p, ast.Constant) else HOLE for p in node.values]
            texts.append("".join(parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
    return texts


@cache
def _written_by_code() -> str:
    sources = [path for name in CODE for path in (ROOT / name).rglob("*.py")]
    texts = [text for path in sources for text in _texts_of(path)]
    return "\n".join([*texts, *(path.read_text() for path in (ROOT / "tools").glob("*.sh"))])


def test_table_has_lines() -> None:
    assert len(LINES) > 12


@pytest.mark.parametrize("line", LINES)
def test_line_has_the_words_of_the_code(line: str) -> None:
    # Runs of words between what differs from machine to machine: names, numbers, paths.
    fixed = re.sub(r"^\w+: |\.\.\.|\S*[\d/'@=\[(]\S*|\b(?:lab|bookworm)\b|[;,]", HOLE, line)
    runs = [run.strip() for run in fixed.split(HOLE) if len(run.strip()) >= 8]
    corpus = _written_by_code()

    found = [run for run in runs if run in corpus]

    assert sum(map(len, found)) >= 0.5 * sum(map(len, runs)) > 0, {*runs} - {*found}


def test_wrong_field(project: Project) -> None:
    _edit(project, "max_output:", "max_ouput:")

    with pytest.raises(SpecError) as caught:
        plan_environment(project, "lab")

    assert _quoted("unknown field") in _relative(caught.value, project)


def test_load_that_does_not_fit(project: Project) -> None:
    _edit(project, "peak_qps: 0.15", "peak_qps: 5")

    with pytest.raises(PlanRefusedError) as caught:
        plan_environment(project, "lab")

    assert _pattern(_quoted("placement.replicas")).fullmatch(_relative(caught.value, project))


def test_stale_lock(project: Project) -> None:
    _edit(project, "max_output: 256", "max_output: 200")

    with pytest.raises(PlanStaleError) as caught:
        check_lock(project, "lab")

    assert _pattern(_quoted("is stale")).fullmatch(_relative(caught.value, project))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A copy of this project's spec and lock."""
    root = tmp_path / "stacks"
    for folder in ("specs", "plans"):
        shutil.copytree(ROOT / "stacks" / folder, root / folder)
    return Project(root)


def _edit(project: Project, old: str, new: str) -> None:
    path = project.spec_file("lab")
    assert path.read_text().count(old) == 1
    path.write_text(path.read_text().replace(old, new))


def _quoted(part: str) -> str:
    (line,) = [line for line in LINES if part in line]
    return line.removeprefix("error: ")


def _pattern(line: str) -> re.Pattern[str]:
    return re.compile(".+".join(map(re.escape, line.split("..."))))


def _relative(error: Exception, project: Project) -> str:
    return str(error).replace(f"{project.root.parent}/", "")
