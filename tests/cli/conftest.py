import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from warmfleet.cli import main, output
from warmfleet.plan.lock import plan_environment, write_lock
from warmfleet.project import PROJECT_VARIABLE, Project

BASE = Path(__file__).parents[1] / "spec" / "cases" / "base.yaml"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project with the environment ``test`` and its lock, found from anywhere."""
    (tmp_path / "Pulumi.yaml").write_text("name: warmfleet\n")
    (tmp_path / "specs").mkdir()
    shutil.copy(BASE, tmp_path / "specs" / "test.yaml")
    project = Project(tmp_path)
    write_lock(plan_environment(project, "test"), project.plan_file("test"))
    monkeypatch.setenv(PROJECT_VARIABLE, str(tmp_path))
    return project


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch):
    """Run the command line in this process."""
    monkeypatch.setattr(output, "_log_file", None)

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(main, list(arguments), prog_name="warmfleet")

    return invoke
