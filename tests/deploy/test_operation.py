"""Two commands on one environment: the second is refused and told of the first."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from warmfleet.deploy.operation import operation
from warmfleet.errors import EnvironmentBusyError
from warmfleet.project import Project

HOLD = """
import sys
from warmfleet.deploy.operation import operation
from warmfleet.project import Project
with operation(Project.find(), "lab"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "Pulumi.yaml").touch()
    return Project(tmp_path)


def test_the_second_is_refused_until_the_first_is_killed(project: Project) -> None:
    program = project.root / "warmfleet"
    program.write_text(HOLD)
    first = subprocess.Popen(
        [sys.executable, program, "up", "lab"],
        cwd=project.root,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        with pytest.raises(EnvironmentBusyError) as caught, operation(project, "lab"):
            pass
        first.send_signal(signal.SIGKILL)
    assert str(caught.value) == (
        f"lab is being changed by warmfleet up lab (pid {first.pid}); wait for it or stop it "
        f"(kill -INT {first.pid}), then try again"
    )
    with operation(project, "lab"), operation(project, "other"):
        pass


def test_a_child_does_not_keep_the_claim(project: Project) -> None:
    with operation(project, "lab"):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    with child:
        with operation(project, "lab"):
            pass
        child.kill()
