"""Specs that name what is not there, as data: every message in full."""

from pathlib import Path

import pytest
import yaml

from warmfleet.errors import PlanRefusedError, SpecError
from warmfleet.plan.lock import plan_spec_file

BASE = Path(__file__).parents[1] / "spec" / "cases" / "base.yaml"
CASES = yaml.safe_load((Path(__file__).parent / "cases" / "references.yaml").read_text())


@pytest.mark.timeout(20)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_wrong_reference(case: dict, tmp_path: Path) -> None:
    (tmp_path / "own.gguf").write_text("hello")
    text, error = BASE.read_text(), case["error"]
    for old, new in case["replace"].items():
        assert old in text, "the case changes nothing"
        text = text.replace(old, new)
    for word, letter in case.get("repeat", {}).items():
        text, error = text.replace(word, letter * 1000), error.replace(word, letter * 1000)
    path = tmp_path / "test.yaml"
    path.write_text(text)

    with pytest.raises((SpecError, PlanRefusedError)) as caught:
        plan_spec_file(path, root=tmp_path)

    assert str(caught.value) == f"{path}:{error}"
