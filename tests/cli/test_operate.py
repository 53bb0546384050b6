"""Commands on one host: what is wrong with their arguments is told before anything is touched."""

import json

import click
import pytest

from warmfleet.cli.commands import COMMANDS
from warmfleet.cli.options import HostType
from warmfleet.project import Project

VERBS = ["drain", "undrain", "restart", "replace", "logs", "ssh"]


@pytest.mark.parametrize("verb", VERBS)
def test_a_host_that_is_not_there_is_told_with_the_nearest(
    run, project: Project, verb: str
) -> None:
    assert project.environments() == ["test"]
    result = run(verb, "test", "replica-9")
    assert result.exit_code == 2
    assert result.stderr == (
        "error: environment test has no host 'replica-9'; did you mean 'replica-2'?\n"
    )
    other = run(verb, "test", "db", "--json")
    assert other.exit_code == 2
    assert json.loads(other.stdout)["error"] == {
        "code": "name-unknown",
        "message": "environment test has no host 'db'; hosts: gw-1, replica-1, replica-2",
    }


@pytest.mark.parametrize("verb", VERBS)
def test_an_environment_that_is_not_there(run, project: Project, verb: str) -> None:
    assert project.environments() == ["test"]
    result = run(verb, "nowhere", "replica-1")
    assert result.exit_code == 2
    assert "no environment 'nowhere'" in result.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_both_arguments_are_needed_and_help_says_what_happens(run, verb: str) -> None:
    assert run(verb, "test").exit_code == 2
    text = run(verb, "--help").stdout
    assert "ENVIRONMENT HOST" in text
    assert "--json" in text
    assert COMMANDS[verb].help.endswith(".")


@pytest.mark.parametrize("since", ["yesterday", "10", "1h; true"])
def test_a_time_that_nobody_understands(run, project: Project, since: str) -> None:
    assert project.environments() == ["test"]
    result = run("logs", "test", "replica-1", "--since", since)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"error: --since: found {since!r}; needed: 10m, 2h, 1d, or ")


def test_hosts_are_completed_from_the_plan_of_the_environment(project: Project) -> None:
    ctx = click.Context(click.Command("drain"))
    ctx.params = {"environment": "test"}
    kind, parameter = HostType(), click.Argument(["host"])
    found = kind.shell_complete(ctx, parameter, "rep")
    assert [item.value for item in found] == ["replica-1", "replica-2"]
    ctx.params = {"environment": "nowhere"}
    assert kind.shell_complete(ctx, parameter, "") == []
    assert project.environments() == ["test"]
