"""Specs as customers write them, and what a person would expect of their plans."""

from pathlib import Path

import pytest
import yaml

from tests.plan.conftest import Planning
from warmfleet.plan.gpu_models import GpuFleetPlan
from warmfleet.plan.lock import plan_spec_file, read_any_lock, write_lock
from warmfleet.plan.page import render_page

FOLDER = Path(__file__).with_name("fleets")
EXPECTED = yaml.safe_load(Path(__file__).with_name("fleets.yaml").read_text())
PLANS = {name: plan_spec_file(FOLDER / f"{name}.yaml", root=FOLDER) for name in EXPECTED}


def test_every_spec_has_its_outcome() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_outcome(name: str) -> None:
    plan, expected = Planning.dumped(PLANS[name]), EXPECTED[name]
    model = plan["models"][0]

    assert expected["exact"] == {field: Planning.at(plan, field) for field in expected["exact"]}
    for field, gib in expected["gib"].items():
        assert model["memory"][field] / 2**30 == pytest.approx(gib, abs=0.1)
    for field, value in expected["near"].items():
        assert model["throughput"][field] == pytest.approx(value, rel=0.1)


@pytest.mark.parametrize("name", EXPECTED)
def test_memory_adds_up_to_the_budget(name: str) -> None:
    for model in PLANS[name].models:
        memory = model.memory
        parts = (
            memory.weights_bytes + memory.kv_bytes + memory.activation_bytes
            + memory.non_torch_bytes + memory.headroom_bytes
        )  # fmt: skip
        assert parts == pytest.approx(min(memory.budget_bytes, memory.total_bytes), rel=0.001)
        assert memory.largest_concurrency >= 1


@pytest.mark.parametrize("name", EXPECTED)
def test_every_decision_is_about_a_field_has_its_value_and_a_source(name: str) -> None:
    plan = Planning.dumped(PLANS[name])

    for decision in plan["decisions"]:
        found = Planning.at(plan, decision["field"])
        if decision["field"].endswith("warmup.shapes"):
            found = decision["value"]
        assert (decision["field"], found) == (decision["field"], decision["value"])
        assert decision["reason"]
    explained = {item["field"] for item in plan["decisions"] if item["source"]}
    for index in range(len(plan["models"])):
        for field in ("precision", "cards.gpu", "memory.weights_bytes", "memory.kv_bytes",
                      "memory.headroom_bytes", "throughput.ttft_p95_s", "replicas",
                      "engine.max_num_seqs", "residency.kind"):  # fmt: skip
            assert f"models[{index}].{field}" in explained


@pytest.mark.parametrize("name", EXPECTED)
def test_replicas_are_all_placed_each_on_cards_that_there_are(name: str) -> None:
    plan = PLANS[name]
    assert isinstance(plan, GpuFleetPlan)
    placed = dict.fromkeys((model.name for model in plan.models), 0)
    for site in plan.sites:
        here = dict.fromkeys(placed, 0)
        for group in site.groups:
            for place in group.replicas:
                here[place.model] += group.count
                assert set(place.cards) <= set(range(group.gpus))
        assert here == {row.model: row.replicas for row in site.replicas}
        placed = {name: placed[name] + count for name, count in here.items()}
    assert placed == {model.name: model.replicas for model in plan.models}


@pytest.mark.parametrize("name", EXPECTED)
def test_every_server_holds_what_runs_on_it(name: str) -> None:
    """Memory for the way in which weights are read, two revisions on disk, cores, no swap."""
    plan = PLANS[name]
    assert isinstance(plan, GpuFleetPlan)
    models = {model.name: model for model in plan.models}
    for group in (group for site in plan.sites for group in site.groups):
        host, on = group.host, [models[place.model] for place in group.replicas]
        loads = [model.cold_start.load for model in on]
        assert all(load.peak_host_bytes + 16 * 10**9 <= host.memory_bytes for load in loads if load)
        cards = sum(model.memory.weights_bytes * model.cards.count for model in on)
        assert 1.5 * cards <= host.least_memory_bytes + 1 <= host.memory_bytes + 1
        files = {model.name: model.cold_start.load.files_bytes for model in on}
        assert 2 * sum(files.values()) == host.model_disk.least_bytes <= host.model_disk.size_bytes
        assert host.data_disk.least_bytes <= host.data_disk.size_bytes
        assert 1 + sum(2 + len(place.cards) for place in group.replicas) == host.least_cores
        assert host.least_cores <= host.cores
        assert host.cores / group.gpus >= 8
        assert host.swap == "off"


def test_a_lock_of_servers_is_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "three-models.json"
    write_lock(PLANS["three-models"], path)

    assert read_any_lock(path) == PLANS["three-models"]


@pytest.mark.parametrize("name", EXPECTED)
def test_all_users_are_served_and_their_load_is_carried(name: str) -> None:
    serving = [site for site in PLANS[name].sites if site.role == "serving"]

    assert sum(row.share for site in serving for row in site.users) == pytest.approx(1)
    assert sum(site.load for site in serving) == pytest.approx(1)
    for site in PLANS[name].sites:
        assert sum(row.share for row in site.users) == pytest.approx(site.load)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_page_names_every_model_server_and_choice(name: str) -> None:
    plan = PLANS[name]
    page = render_page(plan)

    for expected in (
        *(f"| {model.name} |" for model in plan.models),
        *(f"| {group.name} |" for site in plan.sites for group in site.groups),
        *(f"| `{decision.field}` |" for decision in plan.decisions),
    ):
        assert expected in page
    assert page == render_page(plan)
