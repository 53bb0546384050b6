"""The roofline against published speeds: the error of each, and the band that plans quote."""

import math
import statistics

import pytest

from warmfleet.catalog.gpu import find_gpu
from warmfleet.catalog.llm import llms
from warmfleet.catalog.speed_anchor import SpeedAnchor, speed_anchors
from warmfleet.sizing.accuracy import EXPECTED, expected_error
from warmfleet.sizing.card_speed import card_speed
from warmfleet.sizing.precision import find_precision
from warmfleet.sizing.roofline import Roofline
from warmfleet.sizing.work import work_of

SHAPES = {model.id: model.architecture for model in llms()}


def _roofline(anchor: SpeedAnchor) -> Roofline:
    precision = find_precision(anchor.precision)
    speed = card_speed(find_gpu(anchor.gpu), precision)
    assert speed is not None
    return Roofline(work_of(SHAPES[anchor.model], precision), speed, tensor_parallel=anchor.cards)


def _speed_error(anchor: SpeedAnchor) -> float | None:
    """Return predicted over measured speed, less one; None where the source says too little."""
    prompt, output, requests = anchor.prompt_tokens, anchor.output_tokens, anchor.requests
    if prompt is None or output is None or requests is None:
        return None
    roofline = _roofline(anchor)
    if anchor.tokens_per_s is not None:
        return roofline.output_tokens_per_s(prompt, output, requests) / anchor.tokens_per_s - 1
    if anchor.step_ms is not None:
        step_s = roofline.decode_step_s(requests, prompt + output / 2)
        return anchor.step_ms / 1e3 / step_s - 1
    assert anchor.first_token_ms is not None
    first_s = roofline.prefill_s(prompt) + roofline.efficiency.request_s
    return anchor.first_token_ms / 1e3 / first_s - 1


ERRORS = [
    (anchor, error) for anchor in speed_anchors() if (error := _speed_error(anchor)) is not None
]


def _name(value: object) -> str:
    if not isinstance(value, SpeedAnchor):
        return ""
    model = value.model.partition("/")[2]
    return f"{model}-{value.precision}-{value.cards}x{value.gpu}-{value.requests}"


@pytest.mark.parametrize(("anchor", "error"), ERRORS, ids=_name)
def test_no_speed_is_off_by_more_than_the_worst_that_is_said(
    anchor: SpeedAnchor, error: float
) -> None:
    worst = expected_error(_roofline(anchor)).worst_pct

    assert -worst <= error * 100 <= worst


def test_the_band_that_plans_quote_is_that_of_the_anchors() -> None:
    groups: dict[str, list[float]] = {}
    for anchor, error in ERRORS:
        groups.setdefault(expected_error(_roofline(anchor)).of, []).append(abs(error) * 100)

    for said in EXPECTED.values():
        errors = sorted(groups[said.of])
        assert said.anchors == len(errors)
        assert said.median_pct == pytest.approx(statistics.median(errors), abs=1)
        assert said.worst_pct == math.ceil(errors[-1])


def test_what_cannot_be_worked_out_is_counted() -> None:
    assert len(speed_anchors()) - len(ERRORS) == 6
