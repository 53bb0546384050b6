"""Warm-up: the shapes that callers send, and the time it may take."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from warmfleet.errors import PlanRefusedError
from warmfleet.plan.choice import Choice
from warmfleet.plan.models import Scalar, WarmupPlan, WarmupShape
from warmfleet.plan.speed import RequestSpeed
from warmfleet.spec.models import CallerSpec, SloSpec
from warmfleet.spec.units import Duration

__all__ = ["PlannedWarmup", "plan_warmup", "probing_s"]

_WINDOW = 3
"""Probes of one shape that must agree: two could agree by chance."""

_PROBES = _WINDOW + 1
"""Forecast per shape: the first probe is the slow one, then a window that agrees."""

_MAX_PROBES = 4 * _WINDOW

_PROBE_OUTPUT_TOKENS = 16
"""One decode step costs what the next does, so a probe need not send a whole answer."""

_BUDGET_FACTOR = 3
"""A start slower than the objective is reported; one slower than this many times has failed.

Replicas that start together on one machine share its cores, and so each takes a multiple.
"""


@dataclass(frozen=True)
class PlannedWarmup:
    """The plan and the reasons for its parts."""

    plan: WarmupPlan
    cold_start_s: float
    """The objective: as asked, else the forecast in tens."""
    shapes: Choice[list[Scalar]]
    budget: Choice[float]
    ratio: Choice[float]


def plan_warmup(
    callers: Sequence[CallerSpec],
    slo: SloSpec,
    speed: RequestSpeed,
    *,
    slots: int,
    noise: float,
    words: str = "measured",
) -> PlannedWarmup:
    """Derive the warm-up from the callers; ``words`` says where their speed comes from.

    Raises:
        PlanRefusedError: starting and warming takes longer than the asked cold start.
    """
    shapes = _shapes(callers, slots)
    probes_s = probing_s(callers, speed, slots=slots)
    forecast_s = speed.start_s + probes_s
    _must_fit(slo, forecast_s, speed.start_s, shapes)
    objective = slo.cold_start or Duration(10 * math.ceil(forecast_s / 10))
    asked = "" if slo.cold_start else " (nothing is asked; the forecast in tens)"
    budget_s = _BUDGET_FACTOR * objective.seconds
    ratio = max(slo.first_request.factor, noise)
    return PlannedWarmup(
        WarmupPlan(
            shapes=shapes,
            window=_WINDOW,
            ratio=ratio,
            max_probes=_MAX_PROBES,
            budget_s=budget_s,
        ),
        objective.seconds,
        Choice(
            [_written(shape) for shape in shapes],
            "one shape for each prompt length (to a factor of two) and for streamed and plain "
            f"answers that callers send, cut to {_PROBE_OUTPUT_TOKENS} tokens; one more with every "
            "slot busy, of the shortest prompt",
            {"callers": len(callers), "slots": slots},
        ),
        Choice(
            budget_s,
            f"start and {_PROBES} probes of each shape take {forecast_s:.0f} s by {words} speed; "
            f"the objective is {objective}{asked}, and a start that takes {_BUDGET_FACTOR} times "
            "that has failed",
            {
                "start_s": speed.start_s,
                "probes_s": probes_s,
                "cold_start_s": objective.seconds,
            },
            speed.source,
        ),
        Choice(
            ratio,
            "probes must agree as closely as the first request must with a steady one "
            f"({slo.first_request}), but no closer than the machine repeats itself",
            {"first_request": slo.first_request.factor, "noise": noise},
        ),
    )


def probing_s(callers: Sequence[CallerSpec], speed: RequestSpeed, *, slots: int) -> float:
    """Return the seconds that it takes to prove the shapes of the callers warm."""
    return sum(_PROBES * _probe_s(shape, speed) for shape in _shapes(callers, slots))


def _shapes(callers: Sequence[CallerSpec], slots: int) -> list[WarmupShape]:
    longest: dict[tuple[int, bool], WarmupShape] = {}
    for caller in callers:
        key = (math.ceil(math.log2(caller.prompt_tokens)), caller.stream)
        shape = WarmupShape(
            prompt_tokens=caller.prompt_tokens,
            output_tokens=min(caller.output_tokens, _PROBE_OUTPUT_TOKENS),
            stream=caller.stream,
            concurrency=1,
        )
        known = longest.get(key)
        if known is None or _size(known) < _size(shape):
            longest[key] = shape
    shapes = sorted(longest.values(), key=_size, reverse=True)
    if slots > 1:
        # What is new when all slots are busy is decoding together: the shortest prompt shows it.
        shapes.append(shapes[-1].model_copy(update={"concurrency": slots}))
    return shapes


def _size(shape: WarmupShape) -> tuple[int, int, bool]:
    return shape.prompt_tokens, shape.output_tokens, shape.stream


def _probe_s(shape: WarmupShape, speed: RequestSpeed) -> float:
    return speed.request_s(shape.prompt_tokens, shape.output_tokens, shape.concurrency)


def _must_fit(slo: SloSpec, forecast_s: float, start_s: float, shapes: list[WarmupShape]) -> None:
    if slo.cold_start is None or forecast_s <= slo.cold_start.seconds:
        return
    asked_s = slo.cold_start.seconds
    msg = (
        f"slo.cold_start: asked {slo.cold_start}, but the start takes {start_s:.3g} s and proving "
        f"{len(shapes)} shapes warm {forecast_s - start_s:.0f} s "
        f"({math.ceil(forecast_s - asked_s)} s too long); nearest: {math.ceil(forecast_s)} s, or "
        "callers with shorter prompts"
    )
    raise PlanRefusedError(msg)


def _written(shape: WarmupShape) -> str:
    kind = "streamed" if shape.stream else "plain"
    text = f"{shape.prompt_tokens}+{shape.output_tokens} {kind}"
    return text if shape.concurrency == 1 else f"{text} x{shape.concurrency}"
