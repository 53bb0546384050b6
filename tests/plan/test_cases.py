"""Cases as data: a spec, and the parts of its plan or the refusal in full."""

from pathlib import Path

import pytest
import yaml

from warmfleet.errors import PlanRefusedError, SpecError
from warmfleet.plan import lock

CASES = [
    pytest.param(path.stem, case, id=f"{path.stem}: {case['name']}")
    for path in sorted((Path(__file__).parent / "cases").glob("*.yaml"))
    for case in yaml.safe_load(path.read_text())
]


@pytest.mark.parametrize(("stem", "case"), CASES)
def test_case(stem, case, planning, servers, monkeypatch) -> None:
    planning = servers if stem == "baremetal" else planning
    document = planning.changed(case.get("set", {}))
    monkeypatch.setattr(lock, "read_document", lambda _: document)

    if "error" in case:
        with pytest.raises((PlanRefusedError, SpecError)) as caught:
            lock.plan_spec_file(planning.base, root=planning.base.parent)
        said = case["error"].replace("BASE", str(planning.base.parent))
        assert f"{planning.base}:{said}" == str(caught.value)
    else:
        plan = planning.dumped(lock.plan_spec_file(planning.base, root=planning.base.parent))
        assert case["expect"] == {field: planning.at(plan, field) for field in case["expect"]}
