"""A planned and standing lab, without its hosts."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from warmfleet.inventory.build import build_inventory
from warmfleet.plan.models import FleetPlan
from warmfleet.project import Project
from warmfleet.stack.credentials import Credentials
from warmfleet.stack.outputs import FleetOutput

DATA = Path(__file__).parent / "data"
REPLICAS = {"replica-1": "10.89.77.11", "replica-2": "10.89.77.12"}


@dataclass(frozen=True)
class FakeRelease:
    """Wheels that nobody built."""

    path: Path = Path("/state/wheelhouse/0123456789ab")
    digest: str = "0123456789ab"
    requirement: str = "warmfleet[service,llamacpp]==0.1.0"


@pytest.fixture
def plan() -> FleetPlan:
    return FleetPlan.model_validate_json((DATA / "plan.json").read_bytes())


@pytest.fixture
def fleet() -> FleetOutput:
    return FleetOutput.model_validate_json((DATA / "fleet.json").read_bytes())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "a project"  # the space is on purpose: paths pass through ssh's own quoting
    root.mkdir()
    Credentials.ensure(Project(root), "lab", ["localhost", "127.0.0.1"], REPLICAS)
    return Project(root)


@pytest.fixture
def credentials(project: Project) -> Credentials:
    return Credentials(project.environment_state("lab"))


@pytest.fixture
def build(project: Project, plan: FleetPlan, fleet: FleetOutput) -> Callable[..., dict[str, Any]]:
    """Build the inventory of the lab; ``plan``, ``fleet`` and ``release`` may be changed ones."""

    def build(
        *, plan: FleetPlan = plan, fleet: FleetOutput = fleet, release: FakeRelease | None = None
    ) -> dict[str, Any]:
        weights = {model.name: Path("/state/weights") / model.file_name for model in plan.models}
        return build_inventory(project, plan, fleet, release or FakeRelease(), weights)

    return build


@pytest.fixture
def other_release() -> FakeRelease:
    return FakeRelease(digest="ba9876543210")
