"""The formulas against numbers worked out by hand."""

import pytest

from warmfleet.catalog.load import load_catalog
from warmfleet.plan.memory import choose_replica_memory, kv_bytes_per_token

CATALOG = load_catalog()
MODEL, WEIGHTS = CATALOG.models[0], CATALOG.weights[0]
LLAMACPP = next(row for row in CATALOG.engines if row.kind == "llamacpp")


def test_the_cache_of_a_token_is_key_and_value_of_all_layers() -> None:
    # 2 x 30 layers x 3 heads x 64 x 2 bytes
    assert kv_bytes_per_token(MODEL, LLAMACPP) == 23_040


def test_memory_is_what_is_loaded_times_the_margin_in_steps() -> None:
    choice = choose_replica_memory(MODEL, WEIGHTS, LLAMACPP, CATALOG.lab, context=2048, slots=4)

    assert choice.inputs["weights_mb"] == 98.362432
    assert choice.inputs["kv_mb"] == pytest.approx(188.74, abs=0.01)
    assert choice.inputs["output_buffer_mb"] == pytest.approx(25.17, abs=0.01)
    # 98.4 + 188.7 + 25.2 + 60 + 80 + 160 = 612.3, x 1.5 = 918.4
    assert choice.value == 1024
