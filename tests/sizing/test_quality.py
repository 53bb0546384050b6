"""Precision by task."""

from collections.abc import Callable

import pytest

from warmfleet.catalog.quality import quality_losses
from warmfleet.errors import PlanRefusedError
from warmfleet.sizing.precision import Precision, find_precision
from warmfleet.sizing.quality import GUARDED_TASKS, PrecisionChoice, choose_precision, quoted

BF16, FP8, INT8, AWQ, MXFP4, Q8, Q6 = (
    find_precision(name) for name in ("bf16", "fp8", "int8", "awq", "mxfp4", "q8_0", "q6_k")
)


def _too_large_above(bits: float) -> Callable[[Precision], str | None]:
    return lambda precision: None if precision.linear_bits <= bits else "2.0 GiB missing"


def _choose(task: str, fits: float, *, offered=(AWQ, BF16, INT8), **changes) -> PrecisionChoice:
    settings = {"published": BF16, "parameters": 7_600_000_000, "accept_quality_loss": False}
    return choose_precision(task, offered, _too_large_above(fits), **(settings | changes))


def test_the_highest_that_fits_is_taken_and_as_published_nothing_is_lost() -> None:
    choice = _choose("math", 16)

    assert choice.precision == BF16
    assert choice.reason == "the highest that fits: as published, nothing is lost"
    assert not choice.losses


def test_eight_bit_quotes_what_it_was_seen_to_cost() -> None:
    choice = _choose("math", 9)

    assert choice.precision == INT8
    assert choice.reason == (
        "bf16 does not fit (2.0 GiB missing); the next highest fits; published: "
        "Llama-3-8B-Instruct in w8a16: GSM8K +0.68, Llama-3-70B-Instruct in w8a16: GSM8K -4.4"
    )


@pytest.mark.parametrize("task", GUARDED_TASKS)
def test_below_eight_bit_exact_tasks_need_consent(task: str) -> None:
    with pytest.raises(PlanRefusedError, match="nearest: accept_quality_loss: true") as refused:
        _choose(task, 5)

    assert "awq fits" in str(refused.value)
    assert "published: " in str(refused.value)
    assert _choose(task, 5, accept_quality_loss=True).precision == AWQ


def test_other_tasks_take_four_bit_and_hear_of_the_cost() -> None:
    choice = _choose("chat", 5)

    assert choice.precision == AWQ
    assert "Arena-Hard recovery % -7" in choice.reason


@pytest.mark.parametrize("task", ["summary", "classification"])
def test_no_more_is_claimed_than_was_found(task: str) -> None:
    choice = _choose(task, 5)

    assert f"no published loss was found for {task}" in choice.reason


def test_models_published_in_four_bit_need_no_consent() -> None:
    choice = _choose("math", 16, offered=(MXFP4,), published=MXFP4)

    assert choice.precision == MXFP4
    assert "nothing is lost" in choice.reason


def test_six_bit_is_below_eight() -> None:
    with pytest.raises(PlanRefusedError, match="q6_k fits"):
        _choose("extraction", 7, offered=(Q8, Q6))


def test_nothing_that_fits_names_the_nearest() -> None:
    with pytest.raises(PlanRefusedError, match=r"bf16 does not fit .*; nearest: a larger card"):
        _choose("chat", 1)


def test_of_equal_bits_the_first_offered_wins() -> None:
    assert _choose("chat", 9, offered=(FP8, INT8)).precision == FP8
    assert _choose("chat", 9, offered=(INT8, FP8)).precision == INT8


def test_findings_of_like_size_come_first() -> None:
    small, large = (quoted("instructions", AWQ, size)[0] for size in (500_000_000, 70_000_000_000))

    assert (small.model, large.model) == ("Qwen2-0.5B-Instruct", "Qwen2-72B-Instruct")
    assert large.method == "awq"


def test_every_finding_can_be_quoted_or_is_of_knowledge() -> None:
    said = {row.task for row in quality_losses()}

    assert said - {"knowledge"} == {
        "chat", "code", "math", "extraction", "embedding", "instructions"
    }  # fmt: skip
