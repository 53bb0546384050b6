import copy
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from warmfleet.catalog.load import load_catalog
from warmfleet.plan.gpu_models import GpuFleetPlan
from warmfleet.plan.lock import dump_plan
from warmfleet.plan.models import FleetPlan
from warmfleet.plan.planner import plan_fleet
from warmfleet.resolve.facts import resolve
from warmfleet.spec.document import Document, read_document
from warmfleet.spec.load import parse_spec
from warmfleet.spec.models import FleetSpec


class Planning:
    """Plans a base, the lab's if no other is named, with some fields changed."""

    def __init__(self, base: str = "base.yaml") -> None:
        self.base = Path(__file__).parent / base
        self.document = read_document(self.base)

    def changed(self, changes: dict[str, Any]) -> Document:
        """Return the document with new values by field; None removes the field."""
        value = copy.deepcopy(self.document.value)
        for field, new in changes.items():
            *outer, last = _parts(field)
            holder = value
            for part in outer:
                holder = holder[part]
            if new is None:
                del holder[last]
            else:
                holder[last] = new
        return replace(self.document, value=value)

    def spec(self, changes: dict[str, Any]) -> FleetSpec:
        return parse_spec(self.changed(changes))

    def plan(self, changes: dict[str, Any] | None = None) -> Any:
        spec, catalog = self.spec(changes or {}), load_catalog()
        return plan_fleet(spec, resolve(spec, catalog, root=self.base.parent), catalog)

    @staticmethod
    def dumped(plan: FleetPlan | GpuFleetPlan) -> Any:
        return json.loads(dump_plan(plan))

    @staticmethod
    def at(value: Any, field: str) -> Any:
        for part in _parts(field):
            value = value[part]
        return value


@pytest.fixture(scope="session")
def planning() -> Planning:
    return Planning()


@pytest.fixture(scope="session")
def servers() -> Planning:
    """Plans GPU servers."""
    return Planning("baremetal.yaml")


def _parts(field: str) -> list[str | int]:
    return [int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", field)]
