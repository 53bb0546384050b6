"""Warm-up: the shapes that callers send, and the time that proving them warm may take."""

import math
from collections.abc import Sequence

from msgspec import Struct

from warmfleet.plan.choice import Choice
from warmfleet.plan.models import Scalar, WarmupPlan, WarmupShape
from warmfleet.plan.speed import RequestSpeed
from warmfleet.spec.models import CallerSpec, SloSpec

__all__ = ["PlannedWarmup", "Probe", "choose_probes", "plan_warmup"]

_WINDOW = 3
"""Probes of one shape that must agree: two could agree by chance."""

_PROBES = _WINDOW + 1
"""Forecast per shape: the first probe is the slow one, then a window that agrees."""

_MAX_PROBES = 4 * _WINDOW

_PROBE_OUTPUT_TOKENS = 16
"""One decode step costs what the next does, so a probe need not send a whole answer."""


class Probe(Struct, frozen=True):
    """A shape, and the seconds until it is proven warm."""

    shape: WarmupShape
    seconds: float


class PlannedWarmup(Struct, frozen=True):
    """The plan and the reasons for its parts."""

    plan: WarmupPlan
    shapes: Choice[list[Scalar]]
    ratio: Choice[float]


def choose_probes(
    callers: Sequence[CallerSpec], speed: RequestSpeed, *, slots: int
) -> tuple[Probe, ...]:
    """Derive the shapes to prove warm from the callers, with the time that each takes."""
    return tuple(
        Probe(shape, _PROBES * _probe_s(shape, speed)) for shape in _shapes(callers, slots)
    )


def plan_warmup(
    probes: Sequence[Probe],
    slo: SloSpec,
    *,
    callers: int,
    slots: int,
    noise: float,
    budget_s: float,
) -> PlannedWarmup:
    """Plan the proof; ``budget_s`` is the time from process start until a start has failed."""
    ratio = max(slo.first_request.factor, noise)
    shapes = [probe.shape for probe in probes]
    return PlannedWarmup(
        WarmupPlan(
            shapes=shapes,
            window=_WINDOW,
            ratio=ratio,
            max_probes=_MAX_PROBES,
            budget_s=budget_s,
        ),
        Choice(
            [_written(shape) for shape in shapes],
            "one shape for each prompt length (to a factor of two) and for streamed and plain "
            f"answers that callers send, cut to {_PROBE_OUTPUT_TOKENS} tokens; one more with every "
            "slot busy, of the shortest prompt",
            {"callers": callers, "slots": slots},
        ),
        Choice(
            ratio,
            "probes must agree as closely as the first request must with a steady one "
            f"({slo.first_request}), but no closer than the machine repeats itself",
            {"first_request": slo.first_request.factor, "noise": noise},
        ),
    )


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


def _written(shape: WarmupShape) -> str:
    kind = "streamed" if shape.stream else "plain"
    text = f"{shape.prompt_tokens}+{shape.output_tokens} {kind}"
    return text if shape.concurrency == 1 else f"{text} x{shape.concurrency}"
