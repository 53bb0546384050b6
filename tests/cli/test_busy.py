"""Commands that change an environment wait for no other one: they refuse."""

import os
import subprocess
import sys

import pytest

from warmfleet.deploy.operation import operation


@pytest.mark.parametrize("command", ["up", "down", "converge"])
def test_a_command_refuses_an_environment_that_another_one_changes(project, command):
    with operation(project, "test"):
        result = subprocess.run(
            [sys.executable, "-m", "warmfleet.cli", command, "test"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert result.returncode == 1
    [line] = result.stderr.splitlines()
    assert line.startswith("error: test is being changed by ")
    assert f"(pid {os.getpid()})" in line
    assert "then try again" in line
