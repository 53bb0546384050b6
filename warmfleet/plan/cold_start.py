"""The cold start of one model: all phases, the objective, and the time until a start has failed."""

import math
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from warmfleet.catalog.rows import Basis
from warmfleet.errors import PlanRefusedError
from warmfleet.plan.choice import Choice
from warmfleet.plan.models import Decision
from warmfleet.plan.start_models import ColdStartPlan, LoadPlan, PhasePlan, warmup_label
from warmfleet.plan.warmup import Probe
from warmfleet.spec.models import SloSpec
from warmfleet.spec.units import Duration

__all__ = ["PlannedColdStart", "Start", "plan_cold_start"]

_BUDGET_FACTOR = 3
"""A start slower than the objective is reported; one slower than this many times has failed.

Replicas that start together on one machine share its cores, and so each takes a multiple.
"""

_SAME = 0.01
"""Starts that differ by less are told once."""

_FIRST_FACTOR = 2
"""Nor may the first start of a build fail, which compiles what later ones find."""


class Start(Struct, frozen=True):
    """A start up to the first forward pass, before anything is proven warm.

    Attributes:
        phases: of the service and its engine, in the order of the ledger.
        ready_s: seconds of the last phase, after the warm-up.
        source: where the figures come from.
        load: how weights are read.
        error_pct: how far off such forecasts were in the median.
        remedies: what saves so many seconds of a start after a reboot, the nearest first.
    """

    phases: tuple[PhasePlan, ...]
    ready_s: float
    source: str
    load: LoadPlan | None = None
    error_pct: float | None = None
    remedies: Callable[[float], Iterator[str]] = lambda _: iter(())


class PlannedColdStart(Struct, frozen=True):
    """The forecast and what follows from it."""

    plan: ColdStartPlan
    objective: Duration
    """As asked, else the forecast after a reboot in tens."""
    budget: Choice[float]
    source: str
    slo: Duration | None

    def decisions(self, at: str) -> Iterator[Decision]:
        """Yield why the totals are what they are, and how they stand to the objective."""
        plan = self.plan
        kept = ", compiled artefacts are kept" if plan.first_s > plan.reboot_s else ""
        for name, total, what in (
            ("first_s", plan.first_s, "nothing is kept: the first start of a build on a host"),
            ("reboot_s", plan.reboot_s, f"weights come from disk{kept}"),
            ("restart_s", plan.restart_s, "what an earlier start left is found again"),
        ):
            if name != "reboot_s" and abs(total - plan.reboot_s) < _SAME * plan.reboot_s:
                continue
            yield Choice(
                total,
                f"{what}; {_held(total, self.slo)}",
                {phase.name: getattr(phase, name) for phase in plan.phases},
                self.source,
            ).decision(f"{at}.{name}")


def plan_cold_start(
    start: Start, probes: Sequence[Probe], slo: SloSpec, *, words: str
) -> PlannedColdStart:
    """Join the start with its warm-up; ``words`` says where the speed of requests comes from.

    Raises:
        PlanRefusedError: a start after a reboot takes longer than the asked cold start; with what
            would save the difference.
    """
    ready = PhasePlan.even("ready", start.ready_s, "measured")
    phases = [_rounded(phase) for phase in (*start.phases, *_warmup(probes, words), ready)]
    plan = ColdStartPlan(
        first_s=_total(phases, "first_s"),
        reboot_s=_total(phases, "reboot_s"),
        restart_s=_total(phases, "restart_s"),
        error_pct=start.error_pct,
        phases=phases,
        load=start.load,
    )
    if slo.cold_start is not None and plan.reboot_s > slo.cold_start.seconds:
        raise PlanRefusedError(_refusal(plan, start, slo.cold_start, len(probes)))
    objective = slo.cold_start or Duration(10 * math.ceil(plan.reboot_s / 10))
    asked = "" if slo.cold_start else " (nothing is asked; the forecast in tens)"
    slow_first = 10.0 * math.ceil(_FIRST_FACTOR * plan.first_s / 10)
    budget_s = max(_BUDGET_FACTOR * objective.seconds, slow_first)
    reason = (
        f"a start after a reboot takes {plan.reboot_s:.0f} s by {words} speed, the first one of a "
        f"build {plan.first_s:.0f} s; the objective is {objective}{asked}, and a start that takes "
        f"{_BUDGET_FACTOR} times that, or {_FIRST_FACTOR} times the first one, has failed"
    )
    inputs = {"reboot_s": plan.reboot_s, "first_s": plan.first_s, "cold_start_s": objective.seconds}
    return PlannedColdStart(
        plan,
        objective,
        Choice(budget_s, reason, inputs, start.source),
        start.source,
        slo.cold_start,
    )


def _warmup(probes: Sequence[Probe], words: str) -> Iterator[PhasePlan]:
    basis: Basis = "measured" if words == "measured" else "roofline"
    for probe in probes:
        shape = probe.shape
        label = warmup_label(
            "warmup",
            shape.prompt_tokens,
            shape.output_tokens,
            shape.concurrency,
            stream=shape.stream,
        )
        yield PhasePlan.even(label, probe.seconds, basis)


def _short(seconds: float) -> str:
    return f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.1f}"


def _rounded(phase: PhasePlan) -> PhasePlan:
    """A forecast to the millisecond, as ledgers are read."""
    kinds = ("first_s", "reboot_s", "restart_s")
    return phase.model_copy(update={name: round(getattr(phase, name), 3) for name in kinds})


def _total(phases: Sequence[PhasePlan], kind: str) -> float:
    total: float = sum(getattr(phase, kind) for phase in phases)
    return round(total, 3)


def _held(total_s: float, slo: Duration | None) -> str:
    if slo is None:
        return "nothing is asked"
    spare = slo.seconds - total_s
    if spare >= 0:
        return f"{_short(spare)} s less than the {slo} that are asked"
    return (
        f"{_short(-spare)} s more than the {slo} that are asked: warm a new host before it "
        "is counted on, or bring it the artefacts of one with the same cards"
    )


def _refusal(plan: ColdStartPlan, start: Start, slo: Duration, shapes: int) -> str:
    over = plan.reboot_s - slo.seconds
    before = sum(phase.reboot_s for phase in start.phases) + start.ready_s
    weights = next((p.reboot_s for p in start.phases if p.name == "weights"), 0.0)
    nearest = [f"{math.ceil(plan.reboot_s)} s", *start.remedies(over)]
    if plan.reboot_s - before > over:
        nearest.append("callers with shorter prompts")
    return (
        f"slo.cold_start: asked {slo}, but the start takes {before:.3g} s ({weights:.2g} s of them "
        f"for the weights) and proving {shapes} shapes warm {plan.reboot_s - before:.0f} s "
        f"({_short(over)} s too long); nearest: {', or '.join(nearest)}"
    )
