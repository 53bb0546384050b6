"""Which locks are cleared: only those of a dead process of this very machine."""

import json
import os
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from warmfleet.stack.stale_locks import Holder, clear_stale_locks

NOW = datetime.now(UTC)
FOLDER = ".pulumi/locks/organization/warmfleet/test"


@pytest.fixture
def backend(tmp_path):
    (tmp_path / FOLDER).mkdir(parents=True)
    return tmp_path


@pytest.fixture
def dead_pid():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


def write_lock(backend: Path, **fields) -> Path:
    content = {
        "pid": os.getpid(),
        "username": "someone",
        "hostname": socket.gethostname(),
        "timestamp": NOW.isoformat(),
    }
    path = backend / FOLDER / f"{len(list((backend / FOLDER).iterdir()))}.json"
    path.write_text(json.dumps(content | fields))
    path.with_name(f"{path.name}.attrs").write_text("{}")
    return path


def clear(backend: Path) -> list[Holder]:
    return list(clear_stale_locks(f"file://{backend}", "test"))


def test_the_lock_of_a_dead_process_is_cleared_with_its_attributes(backend, dead_pid):
    stale = write_lock(backend, pid=dead_pid, timestamp="2026-11-30T16:08:06.633224941+08:00")
    [holder] = clear(backend)
    assert (
        str(holder) == f"someone@{socket.gethostname()} (pid {dead_pid}) since 2026-11-30T08:08:06Z"
    )
    assert list(stale.parent.iterdir()) == []


def test_a_killed_process_that_nobody_collected_is_dead(backend):
    process = subprocess.Popen(["sleep", "60"])
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    stale = write_lock(backend, pid=process.pid)
    assert len(clear(backend)) == 1
    assert not stale.exists()
    process.wait()


def test_a_process_that_got_the_number_later_does_not_hold_the_lock(backend):
    write_lock(backend, timestamp=(NOW - timedelta(days=30)).isoformat())
    assert len(clear(backend)) == 1


def test_the_lock_of_another_machine_stays(backend, dead_pid):
    kept = write_lock(backend, pid=dead_pid, hostname="elsewhere")
    assert clear(backend) == []
    assert kept.exists()


def test_the_lock_of_a_living_process_stays_beside_a_stale_one(backend, dead_pid):
    kept = write_lock(backend)
    stale = write_lock(backend, pid=dead_pid)
    assert [holder.pid for holder in clear(backend)] == [dead_pid]
    assert kept.exists()
    assert not stale.exists()


def test_a_living_pulumi_keeps_its_lock_whatever_the_clock_says(backend, tmp_path):
    # A clock that was set forward makes a process look younger than its lock.
    program = tmp_path / "pulumi"
    program.write_bytes(Path("/bin/sleep").read_bytes())
    program.chmod(0o755)
    with subprocess.Popen([program, "60"]) as process:
        kept = write_lock(backend, pid=process.pid, timestamp=(NOW - timedelta(days=1)).isoformat())
        assert clear(backend) == []
        assert kept.exists()
        process.kill()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"pid": "x"}', "\xff"])
def test_what_is_no_lock_is_left_to_pulumi(backend, text):
    odd = backend / FOLDER / "odd.json"
    odd.write_text(text, encoding="latin-1")
    assert clear(backend) == []
    assert odd.exists()


def test_other_stacks_and_other_backends_are_left_alone(backend, dead_pid):
    kept = write_lock(backend, pid=dead_pid)
    assert list(clear_stale_locks(f"file://{backend}", "other")) == []
    for url in ("s3://bucket/path", "postgres://db", "file://~", "file://host/path", "https://x"):
        assert list(clear_stale_locks(url, "test")) == []
    assert kept.exists()
