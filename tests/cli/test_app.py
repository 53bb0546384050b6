"""The frame around all commands."""

import importlib
import json
import logging
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from warmfleet import errors
from warmfleet.cli import app, output
from warmfleet.cli.commands import COMMANDS, CommandEntry

ALL_ERRORS = [getattr(errors, name) for name in errors.__all__ if name != "WarmfleetError"]


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch):
    """Make a command ``fail`` that raises what it is given."""

    def install(raised: BaseException) -> None:
        @click.command()
        @click.option("--json", "as_json", is_flag=True)
        def fail(as_json: bool) -> None:  # noqa: ARG001
            raise raised

        module = type(sys)("failing")
        module.fail = fail
        monkeypatch.setitem(sys.modules, "failing", module)
        monkeypatch.setitem(COMMANDS, "fail", CommandEntry("failing", "Fail."))

    return install


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_of_the_table_is_there_and_says_what_it_does(name: str) -> None:
    command = getattr(importlib.import_module(COMMANDS[name].module), name)

    assert isinstance(command, click.Command)
    assert name == command.name
    assert command.help
    assert len(COMMANDS[name].help) <= 60, "help would wrap in a narrow terminal"


@pytest.mark.parametrize("name", [*COMMANDS])
def test_each_command_shows_its_own_help(name: str, run) -> None:
    result = run(name, "--help")

    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: warmfleet {name}")


@pytest.mark.parametrize("kind", ALL_ERRORS)
def test_a_known_error_is_one_line_and_its_exit_status(kind, run, fails) -> None:
    fails(kind("found X; needed Y"))

    result = run("fail")

    assert (result.stdout, result.stderr) == ("", "error: found X; needed Y\n")
    assert result.exit_code == kind.exit_status


def test_json_errors_are_an_object_on_stdout(run, fails) -> None:
    fails(errors.PlanStaleError("stale"))

    result = run("fail", "--json")

    assert json.loads(result.stdout) == {"error": {"code": "plan-stale", "message": "stale"}}
    assert (result.stderr, result.exit_code) == ("error: stale\n", 3)


def test_several_problems_are_a_line_each(run, fails) -> None:
    fails(errors.SpecError("one\ntwo"))

    assert run("fail").stderr == "error: one\nerror: two\n"


def test_an_unexpected_error_is_one_line_without_traceback(run, fails) -> None:
    fails(KeyError("x"))

    result = run("fail")

    assert result.stderr == (
        "error: unexpected KeyError: 'x'; this is a fault in warmfleet; "
        "set WARMFLEET_DEBUG=1 for details\n"
    )
    assert result.exit_code == 1


def test_an_unexpected_error_names_the_log_that_has_its_traceback(
    run, fails, monkeypatch, project
) -> None:
    fails(KeyError("x"))
    monkeypatch.setattr(logging.getLogger("warmfleet"), "handlers", [])
    log: list[Path] = []

    def invoke() -> None:
        log.append(output.open_log(project, "test", "fail"))

    monkeypatch.setattr(app.logs, "configure", lambda verbose: invoke())  # noqa: ARG005

    result = run("fail")
    for handler in logging.getLogger("warmfleet").handlers:
        handler.stream.close()

    assert result.stderr.endswith(f"details in {log[0]}\n")
    assert "Traceback" in log[0].read_text()
    assert log[0].stat().st_mode & 0o777 == 0o600


def test_verbose_shows_the_traceback(run, fails) -> None:
    fails(KeyError("x"))

    assert "Traceback" in run("--verbose", "fail").stderr


def test_interrupt_ends_with_130(run, fails) -> None:
    fails(KeyboardInterrupt())

    result = run("fail")

    assert (result.stderr.strip(), result.exit_code) == ("error: interrupted", 130)


WAITING = """\
import sys, time, types, click
from warmfleet.cli import main
from warmfleet.cli.commands import COMMANDS, CommandEntry

@click.command()
def wait():
    try:
        print("waiting", flush=True)
        time.sleep(60)
    except KeyboardInterrupt:
        print("ending", flush=True)
        sys.stdin.readline()
        print("ended", flush=True)
        raise

sys.modules["waiting"] = types.SimpleNamespace(__name__="waiting", wait=wait)
COMMANDS["wait"] = CommandEntry("waiting", "Wait.")
main(["wait"])
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_signal_that_ends_lets_a_command_end_in_order(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin
        assert process.stdout
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(number)
        assert process.stdout.readline() == "ending\n"
        for again in (signal.SIGTERM, signal.SIGHUP) if number != signal.SIGINT else ():
            process.send_signal(again)
        stdout, stderr = process.communicate("\n", timeout=30)

    assert (stdout, stderr.strip()) == ("ended\n", "error: interrupted")
    assert process.returncode == 128 + number


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plann"], "error: No such command 'plann'"),
        (["plan", "--wrte"], "error: No such option '--wrte'"),
        (["plan", "a", "b"], "error: Got unexpected extra argument (b)"),
        (["completion", "tcsh"], "error: Invalid value for '{bash|zsh|fish}': 'tcsh' is not one"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(arguments: list[str], said: str, run) -> None:
    result = run(*arguments)

    assert result.stderr.startswith(said)
    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.rstrip().endswith("--help")
    assert result.exit_code == 2


def test_usage_errors_are_json_too(run) -> None:
    result = run("plan", "--wrte", "--json")

    assert json.loads(result.stdout)["error"]["code"] == "usage"


def test_a_reader_that_leaves_is_no_error() -> None:
    program = f"{sys.executable} -m warmfleet.cli schema | head -c 1"

    result = subprocess.run(  # noqa: S602 - a shell makes the pipe; nothing from outside in it
        program, shell=True, capture_output=True, text=True, check=False
    )

    assert (result.stdout, result.stderr) == ("{", "")


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    program = (
        "import sys; from warmfleet.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    )

    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    loaded = set(eval(result.stderr))  # noqa: S307 - our own program's list
    assert loaded & {"pulumi", "ansible", "rich", "pydantic", "yaml", "cryptography"} == set()


def test_help_takes_no_more_than_three_times_what_python_and_click_take() -> None:
    """The budget is 0.3 s on a quiet machine; here it is held against the machine's own speed."""
    quickest = min(_seconds("-c", "import click, importlib.metadata") for _ in range(3))
    helps = [_seconds("-m", "warmfleet.cli", "--help") for _ in range(3)]

    assert min(helps) < max(0.3, 3 * quickest), (statistics.median(helps), quickest)


def _seconds(*arguments: str) -> float:
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], capture_output=True, check=True, env=dict(os.environ)
    )
    return time.perf_counter() - start
