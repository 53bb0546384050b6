import json
import os
import shlex
import subprocess

import pytest

from warmfleet.project import Project


def test_a_shell_can_evaluate_it(run, project: Project) -> None:
    result = run("env")

    shell = subprocess.run(
        ["sh", "-c", f'{result.stdout}\nprintf "%s\\n" "$PULUMI_BACKEND_URL" "$PATH"'],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    assert shell[0] == f"file://{project.root}/.warmfleet/backend?metadata=skip"
    assert shell[1].endswith(os.environ["PATH"])


def test_the_passphrase_is_named_but_not_printed(run, project: Project) -> None:
    result = run("env")

    passphrase = (project.state / "passphrase").read_text()
    assert len(passphrase) > 20
    assert passphrase not in result.stdout
    assert f"PULUMI_CONFIG_PASSPHRASE_FILE={shlex.quote(str(project.state / 'passphrase'))}" in (
        result.stdout
    )


def test_what_is_set_already_is_not_printed(
    run,
    project: Project,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", "postgres://user:hunter2@db/state")

    result = run("env", "--json")

    assert "hunter2" not in result.stdout
    assert "PULUMI_HOME" in json.loads(result.stdout)["variables"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, run) -> None:
    result = run("completion", shell)

    assert result.exit_code == 0
    assert "_WARMFLEET_COMPLETE" in result.stdout


def test_environments_are_completed(run, project: Project, monkeypatch) -> None:  # noqa: ARG001
    monkeypatch.setenv("_WARMFLEET_COMPLETE", "zsh_complete")
    monkeypatch.setenv("COMP_WORDS", "warmfleet plan tes")
    monkeypatch.setenv("COMP_CWORD", "2")

    assert "test" in run().stdout.split()


def test_schema_is_the_committed_one(run) -> None:
    from warmfleet.spec.schema import spec_schema

    assert json.loads(run("schema").stdout) == json.loads(json.dumps(spec_schema()))
