"""The four usual cases come out of arithmetic and the catalog, and where their figures end."""

from pathlib import Path

import pytest
import yaml

from tests.plan.conftest import Planning
from warmfleet.errors import PlanRefusedError
from warmfleet.plan.gpu_models import GpuFleetPlan
from warmfleet.plan.lock import plan_spec_file

EXAMPLES = Path(__file__).resolve().parents[2] / "stacks" / "examples"
EXPECTED = yaml.safe_load(Path(__file__).with_name("scenarios.yaml").read_text())


@pytest.fixture(scope="module")
def plans() -> dict[str, GpuFleetPlan]:
    found = {name: plan_spec_file(EXAMPLES / f"{name}.yaml", root=EXAMPLES) for name in EXPECTED}
    assert all(isinstance(plan, GpuFleetPlan) for plan in found.values())
    return found


def test_every_example_has_its_outcome() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.yaml")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_servers_and_line(name: str, plans) -> None:
    expected, site = EXPECTED[name], plans[name].sites[0]
    (group,) = site.groups

    assert expected["card"] == group.gpu
    assert expected["servers"] == {
        "count": group.count,
        "gpus": group.gpus,
        "cores": group.host.cores,
        "memory_gb": group.host.memory_bytes / 10**9,
        "model_disk_gb": group.host.model_disk.size_bytes / 10**9,
    }
    assert site.bandwidth.committed_mbps == expected["committed_mbps"]


@pytest.mark.parametrize("name", EXPECTED)
def test_what_answers_alone_would_need_is_told(name: str, plans) -> None:
    (why,) = (
        decision
        for decision in plans[name].decisions
        if decision.field == "sites[0].bandwidth.committed_mbps"
    )

    assert why.inputs["egress_mbps"] == pytest.approx(EXPECTED[name]["answers_mbps"], rel=0.02)
    asked = "network" in (EXAMPLES / f"{name}.yaml").read_text()
    assert ("new weights in the asked window" in why.reason) == asked


@pytest.mark.parametrize("name", EXPECTED)
def test_what_has_no_price_is_on_enquiry(name: str, plans) -> None:
    cost = plans[name].cost
    servers = [item for site in cost.sites for item in site.items if item.kind == "server"]

    assert servers
    assert all(item.price is None for item in servers), "no rent of a server has a source"
    assert cost.lower_bound


@pytest.mark.parametrize(
    ("model", "precision", "least_gb", "memory_gb"),
    [
        ("Qwen/Qwen2.5-72B-Instruct", "bf16", 436, 512),  # two copies of 145 GB x 1.5
        ("deepseek-ai/DeepSeek-V2.5", "fp8", 718, 1024),  # two of 239 GB
        ("meta-llama/Llama-3.1-405B-Instruct", "fp8", 616, 1024),  # one of 410 GB
    ],
)
def test_512_gb_beside_eight_cards_are_not_enough_for_every_model(
    model: str, precision: str, least_gb: int, memory_gb: int
) -> None:
    planning = Planning(str(EXAMPLES / "chat-72b.yaml"))
    changes = {"models.0.source": {"hf": model}, "models.0.precision": precision, "network": None}

    host = planning.plan(changes).sites[0].groups[0].host

    assert host.least_memory_bytes / 10**9 == pytest.approx(least_gb, abs=1)
    assert host.memory_bytes / 10**9 == memory_gb


@pytest.mark.parametrize(("precision", "fits"), [("fp16", False), ("int8", True), ("awq", True)])
def test_34b_in_16_bit_is_more_than_one_card_of_40_gb(precision: str, fits: bool) -> None:
    planning = Planning(str(EXAMPLES / "chat-14b.yaml"))
    changes = {
        "models.0.source": {"hf": "Qwen/Qwen2.5-32B-Instruct"},
        "models.0.precision": precision,
        "models.0.context": "4k",
        "traffic.callers.0.peak_qps": 0.2,
        "placement.gpu": "1 x A100 PCIe 40GB",
        "network": None,
    }

    if fits:
        assert planning.plan(changes).models[0].cards.count == 1
        return
    with pytest.raises(
        PlanRefusedError, match=r"of weights and .* missing with .* for one request"
    ):
        planning.plan(changes)
