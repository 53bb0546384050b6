"""How the engine is run, shown with a stand-in for the program; the real one: test_workspace."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from warmfleet.errors import StackError, ToolMissingError
from warmfleet.project import Project
from warmfleet.stack import engine as engine_module
from warmfleet.stack.engine import Engine


@pytest.fixture
def engine(tmp_path, monkeypatch):
    (tmp_path / "Pulumi.yaml").touch()
    monkeypatch.setattr(engine_module, "in_checkout", lambda: None)
    monkeypatch.setattr(engine_module.sys, "prefix", str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return Engine(Project(tmp_path))


@pytest.fixture
def fake_pulumi(tmp_path):
    def write(script: str) -> None:
        path = tmp_path / "bin" / "pulumi"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return write


def ignore(_line: str) -> None: ...


def test_without_pulumi_the_next_step_is_named(engine):
    with pytest.raises(ToolMissingError, match="pulumi is not on PATH; run `make tools`"):
        engine.command("stack", "ls")


def test_the_engine_gets_state_and_passphrase_by_variables_only(engine, fake_pulumi, tmp_path):
    fake_pulumi('echo "$PULUMI_BACKEND_URL $PULUMI_CONFIG_PASSPHRASE_FILE $* ${0%/*}"')
    backend, passphrase, *arguments = engine.command("stack", "ls").split()
    assert backend == f"file://{tmp_path}/.warmfleet/backend?metadata=skip"
    assert passphrase == f"{tmp_path}/.warmfleet/passphrase"
    assert arguments == ["stack", "ls", "--non-interactive", f"{tmp_path}/bin"]


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        ("error: incorrect passphrase\\nusage: ...", "incorrect passphrase"),
        ("boom", "boom"),
        ("", "no message"),
    ],
)
def test_a_failed_command_is_one_line(engine, fake_pulumi, printed, message):
    fake_pulumi(f"printf '{printed}' >&2; exit 255")
    with pytest.raises(StackError) as caught:
        engine.command("stack", "ls", "--json")
    assert str(caught.value) == f"pulumi stack ls: {message}"
    with pytest.raises(StackError) as caught:
        engine.update("up", stack="test", on_event=ignore)
    assert str(caught.value) == f"pulumi up of test failed: {message}"


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        (
            "t-guangzhou-replica-2: error reading from server: EOF (and 1 more)",
            "t-guangzhou-replica-2: its provider or its program was ended in the middle; run it "
            "again",
        ),
        (
            'connection error: desc = "transport: Error while dialing: dial tcp 127.0.0.1:36213: '
            'connect: connection refused"',
            "its provider or its program was ended in the middle; run it again",
        ),
        (
            'saving update info: blob (key ".pulumi/history/t.json") (code=Unknown): write '
            "/stacks/.warmfleet/backend/.pulumi/history/t.json.18e.tmp: no space left on device",
            "no space is left on the disk of /stacks/.warmfleet/backend/.pulumi/history; make room "
            "there and run it again",
        ),
    ],
)
def test_what_a_person_can_mend_is_told_in_plain_words(engine, fake_pulumi, printed, message):
    fake_pulumi(f"echo 'error: {printed}' >&2; exit 255")
    with pytest.raises(StackError) as caught:
        engine.update("up", stack="test", on_event=ignore)
    assert str(caught.value) == f"pulumi up of test failed: {message}"


def test_an_engine_that_was_killed_is_told_apart(engine, fake_pulumi):
    fake_pulumi("kill -9 $$")
    with pytest.raises(StackError, match="pulumi up of test was ended by SIGKILL"):
        engine.update("up", stack="test", on_event=ignore)


def test_ctrl_c_reaches_the_engine_once_and_waits_for_it(engine, fake_pulumi, tmp_path):
    fake_pulumi(
        "trap 'echo INT >> signals; sleep 0.5; echo saved >> signals; exit 1' INT\n"
        "echo '{}'; i=0; while [ $i -lt 600 ]; do sleep 0.1; i=$((i+1)); done"
    )
    pid = engine_module.os.getpid()
    threading.Timer(0.5, engine_module.os.kill, (pid, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        engine.update("up", stack="test", on_event=ignore)
    assert (tmp_path / "signals").read_text() == "INT\nsaved\n"


@pytest.mark.usefixtures("engine")
def test_the_engine_ends_with_a_command_that_is_killed(fake_pulumi, tmp_path):
    fake_pulumi(f"echo $$ > {tmp_path}/pid; exec sleep 60")
    script = (
        "import sys; from pathlib import Path; from warmfleet.project import Project\n"
        "from warmfleet.stack import engine\n"
        f"engine.sys.prefix = {str(tmp_path)!r}; engine.in_checkout = lambda: None\n"
        f"project = Project(Path({str(tmp_path)!r}))\n"
        "engine.Engine(project).update('up', stack='test', on_event=print)"
    )
    with subprocess.Popen([sys.executable, "-c", script]) as command:
        pid = wait_for(tmp_path / "pid")
        command.kill()
    deadline = time.monotonic() + 5
    while Path("/proc", pid).exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path("/proc", pid).exists()


def wait_for(file: Path) -> str:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if file.exists() and (text := file.read_text().strip()):
            return text
        time.sleep(0.02)
    pytest.fail(f"{file} was not written")
