"""Replicas and what callers see of them, against numbers worked out by hand."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.sizing.shapes import DENSE, MIXTURE
from warmfleet.sizing.card_speed import CardSpeed
from warmfleet.sizing.demand import Demand, requests_per_s, tokens_per_s
from warmfleet.sizing.precision import find_precision
from warmfleet.sizing.replicas import busy_replicas, replicas_for, servers_for, spare_replicas
from warmfleet.sizing.roofline import Roofline
from warmfleet.sizing.service import service_of
from warmfleet.sizing.work import work_of

BF16 = find_precision("bf16")

CARD = CardSpeed(bandwidth_gb_s=936, tflops=71)
ROOFLINE = Roofline(work_of(DENSE, BF16), CARD)
MIXED = Roofline(work_of(MIXTURE, BF16), CARD, tensor_parallel=4)
WEB = Demand(rate=2, prompt_tokens=900, output_tokens=250)


def test_busy_replicas_are_the_time_that_the_requests_of_a_second_take() -> None:
    steps = 250 * ROOFLINE.decode_step_s(16, 1025) / 16

    assert busy_replicas([WEB], ROOFLINE, 16) == pytest.approx(
        2 * (steps + ROOFLINE.prompt_share_s(900))
    )
    assert (requests_per_s([WEB, WEB]), tokens_per_s([WEB, WEB])) == (4, 1000)


@pytest.mark.parametrize(
    ("carry", "availability", "spare"),
    [
        (1, 0.9, 0),
        (1, 0.99, 0),
        (1, 0.999, 1),
        (1, 0.9999, 1),  # 1 - 0.01 x 0.01
        (1, 0.99999, 2),
        (4, 0.999, 1),  # 0.99902
        (5, 0.999, 2),  # one away of six: 0.99854
        (50, 0.999, 4),
        (1000, 0.999, 21),  # ways to choose are beyond a float here
        (100_000, 0.999, 1110),
        (1_000_000, 0.999, 10_415),
    ],
)
def test_spares_keep_enough_up(carry: int, availability: float, spare: int) -> None:
    assert spare_replicas(carry, availability) == spare


def test_a_server_takes_all_of_its_replicas_with_it() -> None:
    assert servers_for(1, 8, 0.999) == (1, 1)
    assert servers_for(8, 8, 0.999) == (1, 1)
    assert servers_for(100, 8, 0.999) == (13, 2)


def test_a_replica_is_busy_four_fifths_at_most() -> None:
    needed = replicas_for([WEB], ROOFLINE, streams=16, availability=0.999)

    assert needed.carry == math.ceil(needed.busy / 0.8)
    assert needed.total == needed.carry + 1


def test_reading_only_counts_the_prompts() -> None:
    reading = Demand(rate=3, prompt_tokens=500, output_tokens=0)

    assert busy_replicas([reading], ROOFLINE, 8) == pytest.approx(3 * ROOFLINE.prompt_share_s(500))
    assert service_of([reading], ROOFLINE, 8).ttft_p95_s > ROOFLINE.prefill_s(500)


def test_requests_in_flight_are_rate_times_time() -> None:
    seen = service_of([WEB], ROOFLINE, 64)

    prompts, reading = 2 * ROOFLINE.prompt_share_s(900), 2 * ROOFLINE.prefill_s(900)
    step = ROOFLINE.decode_step_s(seen.in_flight, 1025)
    assert seen.in_flight == pytest.approx(reading + 2 * 250 * step / (1 - prompts), 1e-6)
    assert seen.stream_tokens_per_s == pytest.approx((1 - prompts) / step, 1e-6)
    assert seen.utilisation == busy_replicas([WEB], ROOFLINE, 64)


def test_an_idle_replica_answers_after_its_prompt_and_one_step() -> None:
    seen = service_of([replace(WEB, rate=1e-6)], ROOFLINE, 32)

    alone = ROOFLINE.prefill_s(900) + ROOFLINE.decode_step_s(1, 1025) + 0.015
    assert seen.ttft_p95_s == pytest.approx(alone)


def test_too_much_load_never_answers() -> None:
    seen = service_of([replace(WEB, rate=100)], ROOFLINE, 8)

    assert seen.utilisation > 1
    assert seen.in_flight == 8
    assert seen.ttft_p95_s == math.inf


def test_few_places_make_requests_wait() -> None:
    calm = replace(WEB, rate=0.5)
    tight, wide = service_of([calm], ROOFLINE, 5), service_of([calm], ROOFLINE, 64)

    assert tight.utilisation < 1
    assert tight.ttft_p95_s > wide.ttft_p95_s + 0.1


loads = st.builds(
    Demand,
    rate=st.floats(0.01, 50),
    prompt_tokens=st.integers(1, 8000),
    output_tokens=st.integers(0, 2000),
)


@settings(max_examples=40, deadline=None)
@given(
    load=st.lists(loads, min_size=1, max_size=3),
    more=loads,
    streams=st.integers(1, 200),
    roofline=st.sampled_from([ROOFLINE, MIXED]),
)
def test_more_load_or_longer_requests_never_lower_the_replicas(
    load, more, streams, roofline
) -> None:
    def total(demands, places=streams, availability=0.999):
        return replicas_for(demands, roofline, streams=places, availability=availability).total

    first, *rest = load
    before = total(load)
    assert total([*load, more]) >= before
    assert total([replace(first, rate=first.rate * 2), *rest]) >= before
    assert total([replace(first, prompt_tokens=first.prompt_tokens + 100), *rest]) >= before
    assert total([replace(first, output_tokens=first.output_tokens + 100), *rest]) >= before
    assert total(load, availability=0.99999) >= before
    assert total(load, places=streams + 1) <= before


@settings(max_examples=25, deadline=None)
@given(load=loads, streams=st.integers(1, 200), factor=st.floats(1, 4))
def test_more_load_never_makes_an_answer_come_sooner(load, streams, factor) -> None:
    less = service_of([load], ROOFLINE, streams)
    more = service_of([replace(load, rate=load.rate * factor)], ROOFLINE, streams)

    assert more.ttft_p95_s >= less.ttft_p95_s - 1e-6
    assert more.stream_tokens_per_s <= less.stream_tokens_per_s + 1e-6
    assert more.in_flight >= less.in_flight - 1e-6
