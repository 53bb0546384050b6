"""Runs that go another way than well; each takes seconds, so they are apart from the quick ones."""

import os
import signal
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from warmfleet.converge.run import ConvergeResult
from warmfleet.converge.run_folder import temporary_folder
from warmfleet.errors import ConvergeError, HostUnreachableError

pytestmark = pytest.mark.machine

LONG = """
- name: Take long
  ansible.builtin.shell: "echo $$ > {pid_file}; exec sleep 60"
"""


def test_check_changes_nothing_and_tells_what_it_would(bench: Any, tmp_path: Path) -> None:
    file = tmp_path / "written"
    task = f"- name: Write\n  ansible.builtin.copy: {{content: warm, dest: {file}, mode: '0600'}}\n"
    result: ConvergeResult = bench.play(task, "near-1", "--check", "--diff")
    assert result.changed_tasks == ["near-1: Write"]
    assert not file.exists()


def test_what_a_rescue_handled_is_no_failure(bench: Any) -> None:
    result: ConvergeResult = bench.play("""
    - block:
        - name: Fails
          ansible.builtin.command: "false"
      rescue:
        - name: Handled
          ansible.builtin.debug: {msg: fine}
    - name: Ignored
      ansible.builtin.command: "false"
      ignore_errors: true
    """)
    assert result.hosts["near-1"].failed == 0


def test_unreachable_host_is_named_with_address_and_cause(bench: Any) -> None:
    with pytest.raises(HostUnreachableError) as caught:
        bench.play("- name: Ask\n  ansible.builtin.ping:\n", "all")
    message = str(caught.value)
    assert message.startswith("host far (ops@127.0.0.1:1) is not reachable: ")
    assert "Connection refused" in message
    assert "run warmfleet up lab" in message
    assert "near-1" not in message
    assert "\n" not in message


def test_playbook_that_ansible_cannot_read(bench: Any) -> None:
    with pytest.raises(ConvergeError) as caught:
        bench.play("- name: Typing error\n  ansible.builtin.no_such_module:\n")
    assert "no_such_module" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_run_that_takes_too_long_is_ended_with_all_it_started(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("warmfleet.converge.run._BASE_LIMIT_S", -18)  # of 30 s in all
    pid_file = tmp_path / "pid"
    with pytest.raises(ConvergeError, match="not done after 12 s: stopped at near-1: Take long"):
        bench.play(LONG.format(pid_file=pid_file), "near-1")
    assert not _alive(int(pid_file.read_text()), within_s=5)


def test_interrupt_ends_all_that_the_run_started(bench: Any, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"

    def interrupt() -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if pid_file.exists() and pid_file.read_text().strip():
                break
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        bench.play(LONG.format(pid_file=pid_file), "near-1")
    thread.join()
    assert signal.getsignal(signal.SIGINT) is before
    assert not _alive(int(pid_file.read_text()), within_s=5)


def test_a_killed_ansible_says_so_and_what_it_was_at(bench: Any, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"

    def kill() -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not pid_file.exists():
            time.sleep(0.1)
        mark = str(bench.state / "runner/last/artifacts/run").encode()
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (
                    mark in (folder / "environ").read_bytes()
                    and b"ansible-playbook" in (folder / "cmdline").read_bytes()
                ):
                    os.kill(int(folder.name), signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises(ConvergeError, match="was killed: stopped at near-1: Take long; run"):
        bench.play(LONG.format(pid_file=pid_file), "near-1")
    thread.join()


def test_what_a_killed_run_left_is_ended_and_removed(bench: Any, tmp_path: Path) -> None:
    run = bench.state / "runner" / "last"
    left = run / "tmp" / "ansible-local-1"
    left.mkdir(parents=True)
    variables = os.environ | {"AWX_ISOLATED_DATA_DIR": str(run / "artifacts" / "run")}
    worker = subprocess.Popen(
        ["sh", "-c", "trap '' TERM; sleep 60 & wait; sleep 60"], env=variables
    )
    seen = tmp_path / "seen"
    look = f"ls {run / 'tmp'} > {seen}; ls $TMPDIR >> {seen}"
    with temporary_folder(run.parent) as sockets:
        pass
    (sockets / "left").mkdir(parents=True)
    bench.play(f"- name: Look\n  ansible.builtin.shell: {look}\n", "near-1")
    assert not left.exists()
    assert not sockets.exists()
    assert "ansible-local-" in seen.read_text()
    assert "left" not in seen.read_text()
    assert "mitogen_unix_" in seen.read_text()
    assert worker.wait(timeout=5) == -signal.SIGKILL


def _alive(pid: int, within_s: float) -> bool:
    """Tell whether the process still runs at the end of that time."""
    status = Path(f"/proc/{pid}/stat")
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            if status.read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return False
        except OSError:
            return False
        time.sleep(0.05)
    return True
