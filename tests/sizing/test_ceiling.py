"""Loads beyond physics are refused with the arithmetic."""

import pytest

from tests.sizing.shapes import DENSE
from warmfleet.catalog.gpu import find_gpu
from warmfleet.sizing.card_speed import card_speed
from warmfleet.sizing.ceiling import ceiling_of, refuse_load
from warmfleet.sizing.demand import Demand
from warmfleet.sizing.precision import find_precision
from warmfleet.sizing.replicas import replicas_for
from warmfleet.sizing.roofline import Roofline
from warmfleet.sizing.work import work_of

BF16 = find_precision("bf16")
SPEED = card_speed(find_gpu("rtx4090"), BF16)
assert SPEED is not None
ROOFLINE = Roofline(work_of(DENSE, BF16), SPEED)
HUNDREDS = [Demand(300, 500, 250)]


def test_memory_bounds_a_replica_below_what_computing_does() -> None:
    top = ceiling_of(HUNDREDS, ROOFLINE, 32)

    assert top.tokens_per_s == pytest.approx(ROOFLINE.output_tokens_per_s(500, 250, 32))
    assert top.requests_per_s * 250 == pytest.approx(top.tokens_per_s)
    # 15 GFLOP an answer token and twice as many of the prompt at 107 TFLOPS, 0.05 ms the engine's.
    assert top.unbounded_tokens_per_s == pytest.approx(
        250 / (250 * (15.07e9 / 107.4e12 + 5e-5) + 500 * 14.1e9 / 107.4e12), rel=0.03
    )
    assert top.tokens_per_s < top.unbounded_tokens_per_s


def test_hundreds_of_requests_a_second_on_one_card_are_refused_with_the_arithmetic() -> None:
    needed = replicas_for(HUNDREDS, ROOFLINE, streams=32, availability=0.999)

    said = refuse_load(
        HUNDREDS, ROOFLINE, streams=32, card="1 x GeForce RTX 4090", most=1,
        needed=needed.total, utilisation=0.8,
    )  # fmt: skip

    assert said == (
        "300 requests/s x 250 tokens = 75,000 tokens/s, but 1 x GeForce RTX 4090 gives at most "
        "942 tokens/s with the 32 requests that its memory holds, and 2,190 with any number "
        "(107 TFLOPS reached, 15.3 GFLOP a token; prompts and the engine's own 0.05 ms a token "
        "come on top); nearest: 105 replicas, or 3.01 requests/s"
    )
    assert (needed.carry, needed.spare) == (100, 5)


def test_reading_alone_is_counted_in_requests() -> None:
    said = refuse_load(
        [Demand(1000, 400, 0)], ROOFLINE, streams=32, card="1 x GeForce RTX 4090", most=1,
        needed=60, utilisation=0.8,
    )  # fmt: skip

    assert "1000 requests/s x prompts only" in said
    assert "requests/s with the 32" in said
