"""``warmfleet plan`` of GPU servers, and what the other commands say of them."""

import json
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from warmfleet.cli.gpu_plan_view import print_gpu_plan
from warmfleet.plan.gpu_models import GpuFleetPlan
from warmfleet.plan.lock import plan_spec_file
from warmfleet.project import Project

FLEETS = Path(__file__).parents[1] / "plan" / "fleets"


@pytest.fixture
def fleet(project: Project) -> str:
    """The name of an environment of leased servers in the project, with its lock."""
    name = "three-models"
    shutil.copy(FLEETS / f"{name}.yaml", project.spec_file("test").with_name(f"{name}.yaml"))
    return name


@pytest.mark.parametrize("name", sorted(path.stem for path in FLEETS.glob("*.yaml")))
def test_a_terminal_of_100_columns_shows_everything(name: str) -> None:
    plan = plan_spec_file(FLEETS / f"{name}.yaml", root=FLEETS)
    assert isinstance(plan, GpuFleetPlan)
    console = Console(file=StringIO(), width=100, highlight=False, color_system=None)

    print_gpu_plan(console, plan)

    text = console.file.getvalue()
    lines = text.splitlines()
    assert max(map(len, lines)) <= 100
    assert not any(line.rstrip().endswith("…") for line in lines), "something was cut off"
    for model in plan.models:
        assert f"{model.name}: {model.facts.name} in {model.precision}" in text
    for decision in plan.decisions:
        assert decision.field.rpartition("].")[2] in text


def test_the_lock_is_written_checked_and_explained(run, project: Project, fleet: str) -> None:
    assert run("plan", fleet, "--write").exit_code == 0
    assert run("plan", fleet, "--check").exit_code == 0
    lock = json.loads(project.plan_file(fleet).read_text())
    assert json.loads(run("plan", fleet, "--json").stdout) == lock

    result = run("plan", fleet, "--explain", "models[0].memory.weights_bytes")

    assert result.exit_code == 0
    assert "models[0].memory.weights_bytes = 14.2 GiB" in result.stdout
    assert "input    parameters = 7615616512" in result.stdout
    assert "source   two bytes" in result.stdout


REFUSED = (
    "error: environment three-models: found placement.kind baremetal; needed lab: this release "
    "plans leased servers but does not adopt them yet; nearest: warmfleet plan three-models\n"
)


@pytest.mark.parametrize("command", ["status", "converge", "drain", "restart", "ssh"])
def test_servers_are_planned_but_not_worked_on(command, run, fleet: str) -> None:
    run("plan", fleet, "--write")
    host = ["sz-gpu-1"] if command in {"drain", "restart", "ssh"} else []

    result = run(command, fleet, *host)

    assert (result.exit_code, result.stderr) == (1, REFUSED)


def test_servers_are_planned_but_not_brought_up(run, fleet: str) -> None:
    run("plan", fleet, "--write")

    result = subprocess.run(
        [sys.executable, "-m", "warmfleet.cli", "up", fleet],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (result.returncode, result.stderr) == (1, REFUSED)
