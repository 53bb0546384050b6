"""The benchmark runner, with scripts of the test's own."""

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.tools.loading import load_tool

FIGURE = {"name": "overhead", "value": 1.5, "unit": "ms", "better": "lower", "n": 5}
PEER = {"name": "another", "value": 3.0}


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = load_tool("benchmarks")
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    return module


def call(runner: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["benchmarks.py", *arguments])
    return int(runner.main())


def write(runner: ModuleType, name: str, body: str) -> None:
    (runner.FOLDER / f"{name}.py").write_text(f"import sys, json\n{body}\n")


def test_figures_are_shown_and_kept(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    result = {"figures": [FIGURE | {"peer": PEER}]}
    write(runner, "edge", f"assert sys.argv[1:] == ['--json']\nprint(json.dumps({result!r}))")
    assert call(runner, monkeypatch) == 0
    assert capsys.readouterr().out == "edge: overhead 1.5 ms (n=5), another 3 ms\n"
    assert json.loads((runner.FOLDER / "results" / "edge.json").read_text()) == result


def test_quick_results_are_not_kept(runner: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    write(runner, "edge", "assert '--quick' in sys.argv\nprint(json.dumps({'figures': []}))")
    assert call(runner, monkeypatch, "--quick") == 0
    assert not (runner.FOLDER / "results").exists()


def test_a_failed_script_fails_the_run(runner: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    write(runner, "bad", "sys.exit(3)")
    write(runner, "good", f"print(json.dumps({{'figures': [{FIGURE!r}]}}))")
    assert call(runner, monkeypatch) == 1
    assert (runner.FOLDER / "results" / "good.json").is_file()


def test_no_such_script_is_one_line(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(runner, monkeypatch) == 1
    write(runner, "edge", "")
    assert call(runner, monkeypatch, "other") == 1
    lines = capsys.readouterr().err.splitlines()
    assert [line.startswith("error: no benchmark") for line in lines] == [True, True]
    assert "there are: edge" in lines[1]
