"""The reference of the spec: fresh, complete, and generated from the models alone."""

import json
import re
from pathlib import Path

from warmfleet.spec.models import FleetSpec

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")


def test_reference_is_what_the_models_give(spec_reference):
    assert spec_reference.render() == REFERENCE, "run: make docs"


def test_reference_names_every_field_of_the_schema():
    schema = FleetSpec.model_json_schema()
    # A part that can also be written as a name has its fields one level down.
    parts = [schema, *schema["$defs"].values()]
    parts += [form for part in parts for form in part.get("anyOf", [])]
    fields = {name for part in parts for name in part.get("properties", {})}

    described = set(re.findall(r"^\| `(\w+)` \|", REFERENCE, flags=re.MULTILINE))

    assert fields == described


def test_required_fields_are_those_of_the_schema():
    schema = json.loads((ROOT / "stacks" / "specs" / "schema.json").read_bytes())
    section = REFERENCE.partition("## LabPlacement")[2].partition("\n## ")[0]

    required = [line.split("`")[1] for line in section.splitlines() if "| required |" in line]

    assert required == schema["$defs"]["LabPlacement"]["required"]


def test_check_tells_a_reference_that_differs(spec_reference, tmp_path, monkeypatch, capsys):
    stale = tmp_path / "spec.md"
    stale.write_text(REFERENCE.replace("| required |", "| none |"), encoding="utf-8")
    monkeypatch.setattr(spec_reference, "REFERENCE", stale)
    monkeypatch.setattr("sys.argv", ["spec_reference.py", "--check"])

    assert spec_reference.main() == 3
    assert "make docs" in capsys.readouterr().out
    assert "| none |" in stale.read_text(encoding="utf-8")
