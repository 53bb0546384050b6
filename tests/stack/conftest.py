import json
from pathlib import Path
from typing import Any

import pytest

from warmfleet.plan.models import FleetPlan

LOCK = Path(__file__).parents[2] / "stacks" / "plans" / "lab.json"


@pytest.fixture(scope="session")
def lock() -> dict[str, Any]:
    """The committed plan of the lab."""
    value: dict[str, Any] = json.loads(LOCK.read_text())
    return value


@pytest.fixture(scope="session")
def plan(lock: dict[str, Any]) -> FleetPlan:
    return FleetPlan.model_validate(lock)
