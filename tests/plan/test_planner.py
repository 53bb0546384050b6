import ast
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warmfleet.errors import PlanRefusedError
from warmfleet.plan.lock import dump_plan
from warmfleet.plan.models import FleetPlan

PLAN_ROOM = Path(__file__).parents[2] / "warmfleet" / "plan"

IMPURE = {"datetime", "os", "random", "requests", "secrets", "shutil", "socket", "subprocess"} | {
    "tempfile", "time", "urllib", "uuid",
}  # fmt: skip


def test_every_decision_is_about_a_field_and_has_its_value(planning) -> None:
    plan = planning.plan({"traffic.callers[0].peak_qps": 0.15})
    values = planning.dumped(plan)

    for decision in planning.dumped(plan)["decisions"]:
        found = planning.at(values, decision["field"])
        if decision["field"] == "sites[0].hosts":
            found = [host["name"] for host in found]
        if decision["field"] == "models[0].warmup.shapes":
            assert len(found) == len(decision["value"])
            found = decision["value"]
        assert (decision["field"], found) == (decision["field"], decision["value"])
        assert decision["reason"]


def test_what_comes_from_the_catalog_names_its_source(planning) -> None:
    sources = {item.field: item.source for item in planning.plan().decisions}

    for field in ("sites[0].region", "sites[0].bandwidth.committed_mbps", "timeouts.generation_s"):
        assert sources[field]


def test_the_planner_imports_nothing_impure() -> None:
    found = {
        f"{path.name}: {name}"
        for path in PLAN_ROOM.glob("*.py")
        if path.name != "lock.py"  # reads and writes the lock, on purpose
        for name in _imports(path)
        if name in IMPURE
    }

    assert set() == found


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


def test_another_process_with_other_hashes_plans_the_same_bytes(planning) -> None:
    program = (
        "import sys; from pathlib import Path; from warmfleet.plan.lock import *;"
        f"base = Path({str(planning.base)!r});"
        "sys.stdout.write(dump_plan(plan_spec_file(base, root=base.parent)))"
    )
    environment = {"PYTHONHASHSEED": "7", "TZ": "Asia/Shanghai", "LANG": "zh_CN.UTF-8"}

    other = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=True, text=True
    ).stdout

    assert dump_plan(planning.plan()) == other
    assert dump_plan(planning.plan()) == dump_plan(planning.plan())


def _sizes(plan: FleetPlan) -> dict[str, float]:
    replica = plan.hosts[-1]
    bandwidth = plan.sites[0].bandwidth
    return {
        "replicas": len(plan.hosts) - 1,
        "memory_mb": replica.memory_mb,
        "slots": plan.models[0].engine.slots,
        "committed_mbps": bandwidth.committed_mbps,
        "burst_mbps": bandwidth.burst_mbps,
    }


LOADS = st.fixed_dictionaries(
    {
        "peak_qps": st.floats(0.001, 40),
        "prompt_tokens": st.integers(1, 800),
        "output_tokens": st.integers(1, 256),
        "context": st.integers(1500, 8192),  # room for the longest request below
    }
)


@settings(max_examples=60, deadline=None)
@given(
    load=LOADS,
    more=st.fixed_dictionaries(
        {
            "peak_qps": st.floats(1, 5),
            "prompt_tokens": st.integers(0, 400),
            "output_tokens": st.integers(0, 200),
            "context": st.integers(0, 6000),
        }
    ),
    engine=st.sampled_from(["llamacpp", "fake"]),
)
def test_more_load_never_lowers_anything(planning, load, more, engine) -> None:
    larger = {
        "peak_qps": load["peak_qps"] * more["peak_qps"],
        "prompt_tokens": load["prompt_tokens"] + more["prompt_tokens"],
        "output_tokens": min(256, load["output_tokens"] + more["output_tokens"]),
        "context": min(8192, load["context"] + more["context"]),
    }
    small, large = _plan_or_none(planning, load, engine), _plan_or_none(planning, larger, engine)

    if large is None:
        return
    assert small is not None, "less load was refused where more was not"
    for name, size in _sizes(small).items():
        assert (name, size) <= (name, _sizes(large)[name])
    for name, seconds in small.timeouts.model_dump().items():
        assert (name, seconds) <= (name, getattr(large.timeouts, name))


def _plan_or_none(planning, load, engine) -> FleetPlan | None:
    changes = {
        f"traffic.callers[0].{name}": value for name, value in load.items() if name != "context"
    }
    changes |= {
        "models[0].context": load["context"],
        "models[0].engine": engine,
        "placement.replicas": None,
        "slo.cold_start": "30 min",
    }
    try:
        return planning.plan(changes)
    except PlanRefusedError:
        return None


def test_the_digest_is_of_the_meaning_not_the_layout(planning, tmp_path) -> None:
    from warmfleet.plan.digest import spec_digest
    from warmfleet.spec.load import load_spec

    text = planning.base.read_text()
    path = tmp_path / "test.yaml"
    path.write_text("# a comment\n" + text.replace("context: 2k", "context: 2048"))

    assert spec_digest(load_spec(planning.base)) == spec_digest(load_spec(path))
    path.write_text(text.replace("context: 2k", "context: 1k"))
    assert spec_digest(load_spec(planning.base)) != spec_digest(load_spec(path))


@pytest.mark.parametrize("field", ["timeouts", "models", "sites"])
def test_plans_cannot_be_changed(field: str, planning) -> None:
    with pytest.raises(ValueError, match="frozen"):
        setattr(planning.plan(), field, None)
