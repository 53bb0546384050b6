"""Times of steps against numbers worked out by hand, and how they move."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.shapes import DENSE, LATENT, MIXTURE, WINDOWED
from warmfleet.sizing.card_speed import CardSpeed
from warmfleet.sizing.precision import find_precision
from warmfleet.sizing.roofline import CALIBRATED, Roofline
from warmfleet.sizing.work import work_of

BF16 = find_precision("bf16")

CARD = CardSpeed(bandwidth_gb_s=1000, tflops=200)
IDEAL = replace(
    CALIBRATED, bandwidth=1.0, compute=1.0, step_s=0.0, expert_layer_s=0.0, stream_s=0.0,
    request_s=0.0, nvlink=1.0, nvlink_reduce_s=0.0, pcie=1.0, pcie_reduce_s=0.0,
)  # fmt: skip
WORKS = [work_of(shape, BF16) for shape in
         (DENSE, WINDOWED, MIXTURE, LATENT)]  # fmt: skip
DENSE_WORK = WORKS[0]


def test_one_stream_reads_the_weights_once_a_token() -> None:
    roofline = Roofline(DENSE_WORK, CARD, efficiency=IDEAL)

    # 15.01 GB at 1000 GB/s and 131 MB of cache.
    assert roofline.decode_step_s(1, 1000) == pytest.approx(0.015010 + 0.000131, abs=1e-6)


def test_many_streams_share_the_weights_until_they_compute() -> None:
    roofline = Roofline(DENSE_WORK, CARD, efficiency=IDEAL)

    assert roofline.decode_step_s(64, 0) == pytest.approx(roofline.decode_step_s(1, 0))
    # 1000 streams x 15.01 GFLOP at 200 TFLOPS.
    assert roofline.decode_step_s(1000, 0) == pytest.approx(0.07505, abs=1e-5)


def test_a_prompt_is_bound_by_operations_and_a_short_one_by_the_weights() -> None:
    roofline = Roofline(DENSE_WORK, CARD, efficiency=IDEAL)

    assert roofline.prefill_s(2000) == pytest.approx(DENSE_WORK.prompt_flops(2000) / 200e12)
    assert roofline.prefill_s(10) == pytest.approx(0.015010, abs=1e-5)


def test_two_cards_halve_the_reading_and_pay_for_the_link() -> None:
    ideal = Roofline(DENSE_WORK, CARD, tensor_parallel=2, efficiency=IDEAL)
    alone = Roofline(DENSE_WORK, CARD, efficiency=IDEAL)

    # 64 all-reduces of 8 KB at 32 GB/s: 16 microseconds.
    assert ideal.decode_step_s(1, 0) == pytest.approx(alone.decode_step_s(1, 0) / 2 + 16.4e-6, 1e-4)
    bridged = replace(CARD, nvlink_gb_s=600)
    assert (
        Roofline(DENSE_WORK, bridged, tensor_parallel=2).prefill_s(2000)
        < Roofline(DENSE_WORK, CARD, tensor_parallel=2).prefill_s(2000)
    )  # fmt: skip


def test_the_cache_is_divided_over_no_more_cards_than_heads() -> None:
    latent = Roofline(WORKS[3], CARD, tensor_parallel=8, efficiency=IDEAL)
    grown = latent.decode_step_s(1, 100_000) - latent.decode_step_s(1, 0)

    assert grown == pytest.approx(70_272 * 100_000 / 1e12)


def test_a_pipeline_carries_more_but_answers_no_sooner() -> None:
    one = Roofline(DENSE_WORK, CARD, efficiency=IDEAL)
    two = Roofline(DENSE_WORK, CARD, pipeline_parallel=2, efficiency=IDEAL)

    assert two.decode_step_s(2, 0) == pytest.approx(one.decode_step_s(1, 0))
    assert two.output_tokens_per_s(500, 500, 64) > one.output_tokens_per_s(500, 500, 64)


def test_a_layer_with_experts_costs_its_own_work() -> None:
    without = Roofline(WORKS[2], CARD, efficiency=replace(CALIBRATED, expert_layer_s=0.0))

    assert Roofline(WORKS[2], CARD).decode_step_s(1, 0) == pytest.approx(
        without.decode_step_s(1, 0) + 48 * CALIBRATED.expert_layer_s
    )
    assert Roofline(DENSE_WORK, CARD).work.expert_layers == 0


def test_steps_are_shared_and_prompts_are_not() -> None:
    roofline = Roofline(DENSE_WORK, CARD)
    step, prompt = roofline.decode_step_s(8, 1250), roofline.prompt_share_s(1000)

    assert roofline.request_s(1000, 500, 8) == pytest.approx(500 * step / 8 + prompt)
    assert roofline.output_tokens_per_s(1000, 500, 8) == pytest.approx(
        8 * 500 / (500 * step + 8 * prompt)
    )


def test_short_prompts_share_a_pass_over_the_weights() -> None:
    roofline = Roofline(DENSE_WORK, CARD, efficiency=IDEAL)

    assert roofline.prefill_s(10) > 10 * roofline.prompt_share_s(10)
    assert roofline.prompt_share_s(4096) == pytest.approx(roofline.prefill_s(4096))


@settings(max_examples=40, deadline=None)
@given(
    work=st.sampled_from(WORKS),
    streams=st.integers(1, 300),
    context=st.integers(1, 100_000),
    more=st.integers(0, 50_000),
)
def test_more_streams_or_context_never_make_a_step_shorter(work, streams, context, more) -> None:
    roofline = Roofline(work, CARD, tensor_parallel=2)
    step = roofline.decode_step_s(streams, context)

    assert roofline.decode_step_s(streams, context + more) >= step
    assert roofline.decode_step_s(streams + more, context) >= step
    assert roofline.prefill_s(context + more) >= roofline.prefill_s(context)


@settings(max_examples=40, deadline=None)
@given(work=st.sampled_from(WORKS), streams=st.integers(1, 300), more=st.integers(1, 300))
def test_more_streams_never_lower_what_a_replica_carries(work, streams, more) -> None:
    roofline = Roofline(work, CARD)

    less = roofline.output_tokens_per_s(800, 300, streams)
    assert roofline.output_tokens_per_s(800, 300, streams + more) >= less * (1 - 1e-9)
