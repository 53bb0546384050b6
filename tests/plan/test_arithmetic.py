"""The formulas against numbers worked out by hand."""

import pytest

from warmfleet.catalog.load import load_catalog
from warmfleet.plan.bandwidth import plan_bandwidth, response_bytes
from warmfleet.plan.memory import choose_replica_memory, kv_bytes_per_token
from warmfleet.spec.models import CallerSpec
from warmfleet.spec.units import ByteSize

CATALOG = load_catalog()
MODEL, WEIGHTS = CATALOG.models[0], CATALOG.weights[0]
LLAMACPP = next(row for row in CATALOG.engines if row.kind == "llamacpp")


def _caller(**changes) -> CallerSpec:
    values = {
        "name": "web", "peak_qps": 1.0, "prompt_tokens": 200, "output_tokens": 100, "stream": True,
    }  # fmt: skip
    return CallerSpec(**(values | changes))


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


def test_a_streamed_token_weighs_its_event_and_a_plain_one_its_letters() -> None:
    assert response_bytes(_caller(), CATALOG.wire) == 600 + 100 * 324
    assert response_bytes(_caller(stream=False), CATALOG.wire) == 1200 + 100 * 4
    assert response_bytes(_caller(response=ByteSize.parse("20 KB")), CATALOG.wire) == 20_000


@pytest.mark.parametrize(
    ("qps", "size", "committed"),
    [
        (1000, "20 KB", 300),  # 160 Mbps x 1.5 = 240
        (1, "1 KB", 1),
        (83.3333333333, "1 MB", 1000),  # 666.7 x 1.5 = 1000, not a bit more
        (10, "416666 B", 50),  # 49.99992
    ],
)
def test_bandwidth_is_rate_times_size_times_one_and_a_half(
    qps: float, size: str, committed: int
) -> None:
    # Burst is checked apart: at the largest size it would be refused.
    catalog = CATALOG.model_copy(
        update={"peaks": CATALOG.peaks.model_copy(update={"second_to_minute": 1.0})}
    )
    caller = _caller(peak_qps=float(qps), response=ByteSize.parse(size))

    assert plan_bandwidth([caller], "guangzhou", catalog).plan.committed_mbps == committed


def test_burst_covers_the_peak_of_a_second() -> None:
    caller = _caller(peak_qps=100.0, response=ByteSize.parse("20 KB"))

    plan = plan_bandwidth([caller], "guangzhou", CATALOG).plan

    # 16 Mbps x 1.5 = 24, x 1.93 = 46.3
    assert (plan.committed_mbps, plan.burst_mbps) == (30, 50)
