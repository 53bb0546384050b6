"""Where a project keeps what must not be committed."""

import stat
from pathlib import Path

import pytest

from warmfleet.errors import PermissionNeededError
from warmfleet.project import PROJECT_VARIABLE, Project


def test_state_is_private_and_its_passphrase_is_made_once(tmp_path: Path) -> None:
    project = Project(tmp_path)
    first = project.pulumi_environment()["PULUMI_CONFIG_PASSPHRASE_FILE"]
    passphrase = Path(first).read_text()
    assert project.pulumi_environment()["PULUMI_CONFIG_PASSPHRASE_FILE"] == first
    assert Path(first).read_text() == passphrase
    assert len(passphrase) > 30
    assert stat.S_IMODE(Path(first).stat().st_mode) == 0o600
    assert stat.S_IMODE(project.state.stat().st_mode) == 0o700
    assert [path.name for path in project.state.glob("passphrase*")] == ["passphrase"]


def test_a_backend_that_the_caller_names_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PULUMI_BACKEND_URL", "s3://state")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "known")
    variables = Project(tmp_path).pulumi_environment()
    assert variables["PULUMI_BACKEND_URL"] == "s3://state"
    assert "PULUMI_CONFIG_PASSPHRASE_FILE" not in variables


def test_pulumi_is_told_of_this_project_not_of_the_one_that_the_caller_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PROJECT_VARIABLE, "/elsewhere")
    assert Project(tmp_path).pulumi_environment()[PROJECT_VARIABLE] == str(tmp_path)


def test_state_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / ".warmfleet").write_text("not a folder")
    with pytest.raises(PermissionNeededError, match="no folder that this user can write") as caught:
        _ = Project(tmp_path).state
    assert "\n" not in str(caught.value)
