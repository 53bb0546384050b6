"""Stages: what is counted, what is shown, and that a failure is never lost."""

import os
import re
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from tests.tools.loading import TOOLS, load_tool


@pytest.fixture
def stages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = load_tool("stages")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "LOGS", tmp_path / "logs")
    return module


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("12 passed in 3.45s", {"passed": 12}),
        (
            "==== 1 failed, 2 passed, 3 deselected in 61.00s (0:01:01) ====",
            {"failed": 1, "passed": 2},
        ),
        ("\x1b[32m\x1b[1m4 passed\x1b[0m, 1 warning in 0.10s", {"passed": 4, "warnings": 1}),
        ("51 deselected, 2 errors in 4.92s", {"errors": 2}),
        ("Installed 12 packages in 3.45s", {}),
        ("it took 12 passed seconds", {}),
    ],
)
def test_summary_lines_are_counted(stages: ModuleType, line: str, counts: dict[str, int]) -> None:
    found: dict[str, int] = {}
    stages._count(line, found)
    assert found == counts


def test_a_stage_is_shown_logged_and_counted(
    stages: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    stage = stages.Stage("two words", "sh -c 'echo out; echo err >&2; echo 3 passed in 0.10s'", 10)
    outcome = stages.run(stage)
    assert outcome.passed
    assert outcome.counts == {"passed": 3}
    lines = outcome.log.read_text().splitlines()
    assert sorted(lines) == ["3 passed in 0.10s", "err", "out"]
    shown = capfd.readouterr().out
    assert all(line in shown for line in lines)


def test_a_stage_ends_at_its_limit_with_its_children(stages: ModuleType) -> None:
    stage = stages.Stage("slow", "sh -c 'sleep 60 & echo $!; wait'", 0.5)
    outcome = stages.run(stage)
    assert not outcome.passed
    assert outcome.seconds < 10
    child = int(outcome.log.read_text().split()[0])
    assert ended_within(child, seconds=10)


def ended_within(pid: int, *, seconds: float) -> bool:
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    # Readable once it has ended, whether its new parent has collected it or not.
    ended, _, _ = select.select([process], [], [], seconds)
    os.close(process)
    return bool(ended)


def test_the_closing_line_reads_like_that_of_pytest(
    stages: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    good = stages.Outcome(stages.Stage("unit", "x", 1), 0, 1.0, stages.LOGS / "u", {"passed": 5})
    assert stages.close([good], 12.3) == 0
    last = capfd.readouterr().out.splitlines()[-1]
    assert re.fullmatch(r"=+ 5 passed in 12\.30s =+", last)


def test_a_linter_that_fails_is_an_error_beside_passed_tests(
    stages: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    good = stages.Outcome(stages.Stage("unit", "x", 1), 0, 1.0, stages.LOGS / "u", {"passed": 5})
    bad = stages.Outcome(stages.Stage("lint", "x", 1), 1, 1.0, stages.LOGS / "lint.log")
    assert stages.close([good, bad], 1.0) == 1
    output = capfd.readouterr().out
    assert "FAILED" in output
    assert "lint.log" in output
    assert "1 of 2 stages passed" in output
    assert "5 passed, 1 errors in 1.00s" in output.splitlines()[-1]


def test_failed_tests_are_not_counted_twice(
    stages: ModuleType, capfd: pytest.CaptureFixture[str]
) -> None:
    counts = {"failed": 2, "passed": 3}
    bad = stages.Outcome(stages.Stage("unit", "x", 1), 1, 1.0, stages.LOGS / "u", counts)
    assert stages.close([bad], 1.0) == 1
    assert "2 failed, 3 passed in 1.00s" in capfd.readouterr().out


def test_a_failed_set_up_stops(stages: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages.os, "geteuid", lambda: 0)
    monkeypatch.setattr(stages, "PREPARE", [stages.Stage("tools", "false", 5)])
    monkeypatch.setattr(stages, "TEST", [stages.Stage("unit", "touch ran", 5)])
    assert stages.main(["test"]) == 1
    assert not (stages.ROOT / "ran").exists()


def test_contributing_has_the_time_of_every_stage() -> None:
    stages = load_tool("stages")
    text = (TOOLS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.partition("| stage |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| ([a-z ]+) \| .+ \| ([\d.]+) \|$", table, flags=re.MULTILINE)
    names = [stage.name for stage in stages.PREPARE + stages.CHECK + stages.TEST]
    assert [name for name, _ in rows] == names
    assert all(float(seconds) > 0 for _, seconds in rows)


def test_later_stages_run_after_a_failed_one(
    stages: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages.os, "geteuid", lambda: 0)
    monkeypatch.setattr(stages, "PREPARE", [stages.Stage("tools", "true", 5)])
    monkeypatch.setattr(stages, "CHECK", [stages.Stage("lint", "false", 5)])
    monkeypatch.setattr(stages, "TEST", [stages.Stage("engine", "touch ran", 5)])
    assert stages.main(["test"]) == 1
    assert (stages.ROOT / "ran").exists()


@pytest.mark.parametrize("arguments", [["nothing"], ["check", "nothing"]])
def test_unknown_names_are_usage_errors(stages: ModuleType, arguments: list[str]) -> None:
    assert stages.main(arguments) == 2


def program(path: Path, body: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


@contextmanager
def script(checkout: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run a copy of the script in a checkout of fake programs, in a process group of its own."""
    program(checkout / "bin" / "sudo", "exit 1")
    (checkout / "tools").mkdir(exist_ok=True)
    copy = shutil.copy(TOOLS / "stages.py", checkout / "tools")
    with subprocess.Popen(
        [sys.executable, copy, *arguments],
        env=os.environ | {"PATH": f"{checkout / 'bin'}:{os.environ['PATH']}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        process_group=0,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


# It ends when the test lets it, which is later than subprocess.run() would let it.
LETS_GO = "while [ ! -e {let_go} ]; do sleep 0.05; done"
IN_ORDER = "trap 'trap : INT {name}; echo ending; {lets_go}; echo in order; exit {status}' {name}"
RUN_KILLS_AFTER_S = 0.25


@pytest.mark.parametrize(("name", "whole_group"), [("INT", True), ("TERM", False), ("HUP", True)])
def test_a_command_of_the_lab_ends_in_its_own_time(
    tmp_path: Path, name: str, whole_group: bool
) -> None:
    number = signal.Signals[f"SIG{name}"]
    let_go = tmp_path / "let-go"
    lets_go = LETS_GO.format(let_go=let_go)
    body = IN_ORDER.format(status=128 + number, name=name, lets_go=lets_go)
    body += "\necho ready\nwhile :; do sleep 0.1; done"
    program(tmp_path / ".venv" / "bin" / "warmfleet", body)
    with script(tmp_path, "down") as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        # A terminal signals everybody in the foreground, others only the process they started.
        (os.killpg if whole_group else os.kill)(process.pid, number)
        assert process.stdout.readline() == "ending\n"
        os.kill(process.pid, signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2 * RUN_KILLS_AFTER_S)
        let_go.touch()
        assert process.wait(20) == 128 + number
        assert process.stdout.read() == "in order\n"


def test_lines_of_stages_side_by_side_stay_whole(tmp_path: Path) -> None:
    for name in ("mypy", "yamllint"):
        program(tmp_path / ".venv" / "bin" / name, "seq 3000")
    with script(tmp_path, "check", "types", "yaml") as process:
        assert process.stdout
        shown = process.stdout.read().splitlines()
    for stage in ("types", "yaml"):
        assert [line for line in shown if line.startswith(f"[{stage}]")] == [
            f"[{stage}] {number}" for number in range(1, 3001)
        ]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_ends_all_stages_and_starts_no_more(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    programs = tmp_path / ".venv" / "bin"
    program(programs / "mypy", "sleep 60 & echo child $!; wait")
    program(programs / "yamllint", "sleep 60 & echo child $!; wait")
    program(programs / "codespell", "touch started")
    with script(tmp_path, "check", "types", "yaml", "spelling") as process:
        assert process.stdout
        lines = [process.stdout.readline() for _ in range(2)]
        assert all(" child " in line for line in lines), [*lines, process.stdout.read()]
        children = [int(line.split()[-1]) for line in lines]
        os.kill(process.pid, number)
        assert process.wait(20) == status
        assert process.stdout.read().count("ended, by an interrupt") == 2
    assert all(ended_within(child, seconds=10) for child in children)
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("group", "stage", "prefix"), [("check", "unit", "[unit] "), ("test", "llamacpp", "")]
)
def test_an_interrupted_stage_is_heard_to_its_end(
    tmp_path: Path, group: str, stage: str, prefix: str
) -> None:
    let_go = tmp_path / "let-go"
    body = IN_ORDER.format(status=1, name="TERM", lets_go=LETS_GO.format(let_go=let_go))
    body += "\necho ready\nwhile :; do sleep 0.1; done"
    program(tmp_path / ".venv" / "bin" / "pytest", body)
    program(tmp_path / ".venv" / "bin" / "python", "exit 0")  # the set-up has nothing to do
    with script(tmp_path, group, stage) as process:
        assert process.stdout
        assert any(line == f"{prefix}ready\n" for line in process.stdout)
        os.kill(process.pid, signal.SIGINT)
        assert any(line == f"{prefix}ending\n" for line in process.stdout)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(RUN_KILLS_AFTER_S)
        let_go.touch()
        assert process.wait(20) == 130
        assert process.stdout.read() == f"{prefix}in order\n"
    assert "in order" in (tmp_path / ".cache" / "logs" / f"{stage}.log").read_text()


def test_a_stage_whose_first_process_ended_ends_at_its_limit(stages: ModuleType) -> None:
    outcome = stages.run(stages.Stage("left", "sh -c 'sleep 60 & echo $!'", 0.5))
    assert outcome.seconds < 10
    assert ended_within(int(outcome.log.read_text().split()[0]), seconds=10)


def test_stages_are_ended_without_a_program_for_it(
    stages: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("sh", "sleep"):
        (tmp_path / "bin" / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    outcome = stages.run(stages.Stage("slow", "sh -c 'sleep 30'", 0.5))
    assert outcome.status == -signal.SIGTERM
    assert outcome.seconds < 10


def test_a_stage_of_roots_is_ended_through_sudo(
    stages: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Stands for as_root.sh, and for a sudo that has the right to end what root runs.
    program(tmp_path / "as_root.sh", 'exec "$@"')
    program(tmp_path / ".venv" / "bin" / "sudo", f'echo "$*" > {tmp_path}/said; shift; exec "$@"')
    monkeypatch.setenv("PATH", f"{tmp_path / '.venv' / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(stages, "AS_ROOT", str(tmp_path / "as_root.sh"))
    monkeypatch.setattr(stages.os, "geteuid", lambda: 1000)
    outcome = stages.run(stages.Stage("machine", "sleep 60", 0.5, root=True))
    assert outcome.status == -signal.SIGTERM
    assert re.fullmatch(r"-n kill -s TERM -- -\d+\n", (tmp_path / "said").read_text())
