"""config.json of published models and wrong ones, as data: what is read from each."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from warmfleet.resolve.config_fields import DIALECTS
from warmfleet.resolve.hf_config import TensorCounts, parse_config

CASES = Path(__file__).parent / "cases"
PUBLISHED = yaml.safe_load((CASES / "configs.yaml").read_text())
WRONG = yaml.safe_load((CASES / "wrong_configs.yaml").read_text())
QUANTIZED = yaml.safe_load((CASES / "quantizations.yaml").read_text())
LLAMA = PUBLISHED[0]["config"] | {"rope_scaling": None}
EXPERTS = next(case["config"] for case in PUBLISHED if case["name"] == "Qwen/Qwen3-30B-A3B")


@pytest.mark.parametrize("case", PUBLISHED, ids=lambda case: case["name"])
def test_a_published_model(case: dict) -> None:
    found = parse_config(case["config"])

    shape = found.architecture
    said = {**shape.model_dump(), "precision": found.precision and found.precision.id}
    expect = case.get("expect", {})
    assert {name: said[name] for name in expect} == expect
    for count, value, within in (
        ("counted", shape.parameters, 0.01),
        ("active", shape.active_parameters, 0.01),
        ("other", shape.other_parameters, 0.02),
    ):
        if count in case:
            assert value == pytest.approx(case[count], rel=within)


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case["name"])
def test_a_wrong_config(case: dict) -> None:
    changed = {**LLAMA, **case["change"]}
    config = {name: value for name, value in changed.items() if value is not None}

    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        parse_config(config)

    assert str(caught.value) == case["error"]


@pytest.mark.parametrize("case", QUANTIZED, ids=lambda case: str(case["config"])[:80])
def test_a_number_format(case: dict) -> None:
    plain = {name: value for name, value in LLAMA.items() if name != "torch_dtype"}

    found = parse_config(plain | case["config"]).precision

    if case["precision"] is None:
        assert found is None
    else:
        assert found is not None
        assert (found.id, found.group_size) == (case["precision"], case.get("group_size"))


@pytest.mark.parametrize("config", [None, [], "llama", 5])
def test_what_is_no_config_at_all(config: object) -> None:
    with pytest.raises(ValueError, match=r"needed the fields of a model's config\.json"):
        parse_config(config)


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from([LLAMA, EXPERTS]))
def test_any_dialect_says_the_same(data: st.DataObject, config: dict[str, Any]) -> None:
    renamed: dict[str, Any] = {}
    for name, value in config.items():
        other = data.draw(st.sampled_from((name, *DIALECTS.get(name, ()))), label=name)
        outer, _, inner = other.rpartition(".")
        if outer:
            renamed.setdefault(outer, {})[inner] = value
        else:
            renamed[other] = value

    assert parse_config(renamed) == parse_config(config)


@pytest.mark.parametrize("holder", ["text_config", "llm_config", "language_config"])
def test_a_text_model_inside_another_says_the_same(holder: str) -> None:
    assert parse_config({"model_type": "any_vl", holder: LLAMA}) == parse_config(LLAMA)


def test_counted_parameters_go_before_computed_ones() -> None:
    counts = TensorCounts(text=30_532_122_624, routed_experts=28_991_029_248, other=7)

    shape = parse_config(EXPERTS, lambda *_: counts).architecture

    assert (shape.parameters, shape.other_parameters) == (30_532_122_624, 7)
    assert shape.active_parameters == 3_353_032_704


FIELDS = sorted(
    {name for case in PUBLISHED for name in case["config"]}
    | set(DIALECTS)
    | {"attn_layer_indices", "block_types", "linear_attn_config", "mlp_layer_types", "moe_layers"}
)
STRANGE = [
    None, True, -1, 0, 1, 7, 1.5, 10**18, float("inf"), "", "x", "auto", [], [1], ["a"], [[1]],
    [{}], {}, {"a": 1}, {"weights": 5}, {"full_attn_layers": ["x"]}, {"quant_method": []},
    {"quant_method": "modelopt", "quantization": 5}, {"rope_type": [], "factor": 2},
    {"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": "x"}}}},
    {"type": "yarn", "factor": 2, "original_max_position_embeddings": "z"},
]  # fmt: skip
BASES = ["nvidia/Nemotron-H-8B-Base-8K", "deepseek-ai/DeepSeek-V3"]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.timeout(20)
def test_a_strange_value_gets_one_line_at_most(base: str) -> None:
    config = next(case["config"] for case in PUBLISHED if case["name"] == base)
    refused = []
    for name in FIELDS:
        for value in STRANGE:
            try:
                parse_config(config | {name: value})
            except ValueError as error:  # and no other
                refused.append(str(error))
    assert len(refused) > 100
    assert [said for said in refused if "\n" in said] == []
    odd = [said for said in refused if "; needed " not in said]
    assert [said for said in odd if not said.startswith("config.json: ")] == []


def test_more_layers_than_a_list_should_hold_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="needed a whole number from 1 to 10000"):
        parse_config(LLAMA | {"num_hidden_layers": 10**9, "sliding_window": 4096})
