"""The schema that editors use."""

import json
import re
from pathlib import Path

import pytest

from warmfleet.spec.load import load_spec
from warmfleet.spec.models import FleetSpec
from warmfleet.spec.prices import PriceBook
from warmfleet.spec.schema import spec_schema

SPECS = Path(__file__).parents[2] / "stacks" / "specs"


def test_the_committed_schema_is_fresh() -> None:
    committed = json.loads((SPECS / "schema.json").read_text())

    assert committed == json.loads(json.dumps(spec_schema())), "warmfleet schema > schema.json"


@pytest.mark.parametrize("model", [FleetSpec, PriceBook])
def test_every_field_is_described(model) -> None:
    definitions = spec_schema(model)["$defs"] | {model.__name__: spec_schema(model)}
    bare = [
        f"{name}.{field}"
        for name, definition in definitions.items()
        for field, schema in definition.get("properties", {}).items()
        if not schema.get("description")
    ]

    assert bare == []


def test_the_reference_spec_is_valid_and_explains_itself() -> None:
    path = SPECS / "lab.yaml"

    assert load_spec(path).name == "lab"
    fields = re.findall(r"^  (?:  |- )?(\w+):(?!.*#)(?!\s*$)", path.read_text(), re.MULTILINE)
    assert set(fields) <= {"package", "file", "kind", "replicas", "task"}, "fields with no comment"
