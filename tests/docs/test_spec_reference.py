"""What the documentation says of the spec is fresh, complete, and written by one command."""

import json
import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from warmfleet.spec.models import FleetSpec
from warmfleet.spec.prices import PriceBook

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")


def test_pages_are_what_the_models_and_the_example_give(spec_reference: ModuleType) -> None:
    for name, wanted in spec_reference.pages(ROOT).items():
        assert (ROOT / name).read_text(encoding="utf-8") == wanted, f"{name}: run make docs"


def test_reference_names_every_field_of_the_schema() -> None:
    # A part that can also be written as a name has its fields one level down.
    parts = [
        part
        for schema in (FleetSpec.model_json_schema(), PriceBook.model_json_schema())
        for part in (schema, *schema["$defs"].values())
    ]
    parts += [form for part in parts for form in part.get("anyOf", [])]
    fields = {name for part in parts for name in part.get("properties", {})}

    described = set(re.findall(r"^\| `(\w+)` \|", REFERENCE, flags=re.MULTILINE))

    assert fields == described


def test_required_fields_are_those_of_the_schema() -> None:
    schema = json.loads((ROOT / "stacks" / "specs" / "schema.json").read_bytes())
    section = REFERENCE.partition("## CallerSpec")[2].partition("\n## ")[0]

    required = [line.split("`")[1] for line in section.splitlines() if "| required |" in line]

    assert required == schema["$defs"]["CallerSpec"]["required"]


def test_check_names_what_differs_and_changes_nothing(
    spec_reference: ModuleType,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    spec = project / "stacks" / "specs" / "lab.yaml"
    spec.write_text(spec.read_text().replace("replicas: 2", "replicas: 3"))
    before = (project / "README.md").read_text()
    monkeypatch.setattr("sys.argv", ["spec_reference.py", "--check"])

    assert spec_reference.main(project) == 3

    named = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert named == ["README.md", "README.zh-CN.md"]
    assert (project / "README.md").read_text() == before


def test_run_brings_the_example_up_to_date(
    spec_reference: ModuleType, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = project / "stacks" / "specs" / "lab.yaml"
    spec.write_text(spec.read_text().replace("replicas: 2", "replicas: 3"))
    monkeypatch.setattr("sys.argv", ["spec_reference.py"])

    assert spec_reference.main(project) == 0

    assert spec.read_text() in (project / "README.md").read_text()


def test_readme_without_markers_is_told(spec_reference: ModuleType) -> None:
    with pytest.raises(ValueError, match="BEGIN SPEC"):
        spec_reference.with_example("# Warmfleet\n", "name: lab\n")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the pages and of what they are made from."""
    for name in ("README.md", "README.zh-CN.md", "docs/spec.md", "stacks/specs/lab.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path
