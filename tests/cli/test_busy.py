"""Commands that change an environment wait for no other one: they refuse."""

import pytest

from warmfleet.deploy.operation import operation


@pytest.mark.parametrize("command", ["up", "down", "converge"])
def test_a_command_refuses_an_environment_that_another_one_changes(run, project, command):
    with operation(project, "test"):
        result = run(command, "test")
    assert result.exit_code == 1
    [line] = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: test is being changed by ")
    assert "then try again" in line
