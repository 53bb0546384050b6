"""How long everything on the path waits: the timeout chain with the reasons for its limits."""

import math
from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from warmfleet.errors import PlanRefusedError
from warmfleet.plan.choice import Choice
from warmfleet.plan.limits import IN_FLIGHT_PER_SLOT
from warmfleet.plan.models import Decision
from warmfleet.plan.timeouts import (
    RELATIONS,
    TimeoutChain,
    TimeoutConflictError,
    TimeoutInputs,
    solve_timeouts,
)

__all__ = ["LongestAnswer", "PlannedTimeouts", "plan_timeouts"]


class LongestAnswer(Struct, frozen=True):
    """The model whose answers take longest, with every place taken.

    Attributes:
        at: its path in the spec, for example ``models[0]``.
        tokens: of its longest answer.
        seconds: of a generation with a longest answer of so many tokens.
        speed: where the time comes from, for example "measured".
        source: of that speed.
    """

    at: str
    tokens: int
    seconds: Callable[[int], float]
    speed: str
    source: str


class PlannedTimeouts(Struct, frozen=True):
    """The chain and the reasons for its parts."""

    chain: TimeoutChain
    decisions: tuple[Decision, ...]


def plan_timeouts(
    longest: LongestAnswer,
    asked: Mapping[str, float],
    *,
    budget_s: float,
    gap_s: float | None,
) -> PlannedTimeouts:
    """Derive the chain from the longest answer of all models and from what the spec asks for.

    ``budget_s`` is the longest warm-up, ``gap_s`` the planned time without a ready replica, None
    when another one is always up.

    Raises:
        PlanRefusedError: what is asked cannot be kept; with the pair that conflicts, and the
            nearest limit or answer length that works.
    """
    inputs = TimeoutInputs(
        slowest_generation_s=longest.seconds(longest.tokens),
        rounds=IN_FLIGHT_PER_SLOT,
        warmup_budget_s=budget_s,
        gap_s=gap_s,
        asked=asked,
    )
    try:
        chain = solve_timeouts(inputs)
    except TimeoutConflictError as error:
        raise PlanRefusedError(_refusal(error, inputs, longest)) from error
    return PlannedTimeouts(chain, tuple(_explained(chain, inputs, longest)))


def _refusal(error: TimeoutConflictError, inputs: TimeoutInputs, longest: LongestAnswer) -> str:
    """Blame what was asked: the outer limit of the pair, else the inner one."""
    relation, limits, asked = error.relation, error.limits, inputs.asked
    outer, inner = _written(relation.outer), _written(relation.inner)
    with_least = f"{inner} of {limits[relation.inner]:.4g} s needs more"
    if relation.also:
        also = f"{_written(relation.also)} of {limits[relation.also]:.4g} s"
        with_least = f"{inner} of {limits[relation.inner]:.4g} s and {also} need more"
    said = f"timeouts.{outer}: asked {limits[relation.outer]:g} s, but {with_least}"
    nearest = []
    if relation.outer in asked and (enough := _enough(inputs, relation.outer)) is not None:
        nearest.append(f"{enough:g} s")
    for name in dict.fromkeys((relation.inner, relation.also)):
        if name is not None and (name in asked or name == "client_idle_s"):
            left = limits[relation.outer] - relation.needed(limits) + limits[name]
            if left > 0:
                nearest.append(f"timeouts.{_written(name)} below {left:g} s")
    if (tokens := _shorter(inputs, longest)) is not None:
        nearest.append(f"{longest.at}.max_output of {tokens} tokens ({longest.tokens} now)")
    if relation.inner == "warmup_budget_s":
        nearest.append("a shorter slo.cold_start")
    return f"{said} ({relation.harm}); nearest: {', or '.join(nearest)}"


def _enough(inputs: TimeoutInputs, name: str) -> float | None:
    """Return the least whole seconds of one limit that all others allow; None: they allow none."""
    asked = dict(inputs.asked)
    for _ in RELATIONS:
        try:
            solve_timeouts(replace(inputs, asked=asked))
        except TimeoutConflictError as error:
            if error.relation.outer != name:
                return None
            asked[name] = math.floor(error.relation.needed(error.limits)) + 1.0
        else:
            return asked[name]
    return None


def _shorter(inputs: TimeoutInputs, longest: LongestAnswer) -> int | None:
    """Return the longest answer with which all that is asked can be kept; None: not one token."""

    def works(tokens: int) -> bool:
        try:
            solve_timeouts(replace(inputs, slowest_generation_s=longest.seconds(tokens)))
        except TimeoutConflictError:
            return False
        return True

    low, high = 0, longest.tokens
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if works(middle) else (low, middle)
    return low or None


def _written(name: str) -> str:
    """Return a field of the chain as the spec has it."""
    return name.removesuffix("_s")


def _explained(
    chain: TimeoutChain, inputs: TimeoutInputs, longest: LongestAnswer
) -> Iterator[Decision]:
    reasons = {
        "generation_s": (
            f"the longest prompt and answer with every slot busy take "
            f"{inputs.slowest_generation_s:.0f} s by {longest.speed} speed; {_room(chain, inputs)}",
            {"slowest_generation_s": inputs.slowest_generation_s},
        ),
        "proxy_read_s": (
            "a plain answer is silent while it waits for a slot and is generated: more than that "
            "many generations",
            {"generation_s": chain.generation_s, "rounds": inputs.rounds},
        ),
        "queue_s": (
            "another replica is up: only until it is seen"
            if inputs.gap_s is None
            else "one replica alone: as long as its cold start",
            {"probe_interval_s": chain.probe_interval_s},
        ),
        "client_s": (
            "a wait for a replica and the silence that the proxy bears, with room to hear of it",
            {"queue_s": chain.queue_s, "proxy_read_s": chain.proxy_read_s},
        ),
        "client_keepalive_s": (
            "the proxy keeps idle connections longer than clients do, or they would reuse closed "
            "ones",
            {"client_idle_s": chain.client_idle_s},
        ),
        "service_keepalive_s": (
            "replicas keep idle connections longer than the proxy, or it would reuse closed ones",
            {"proxy_keepalive_s": chain.proxy_keepalive_s},
        ),
        "drain_s": (
            "what is in flight or waits for a slot when a replica is asked to stop still ends",
            {"in_flight_s": chain.in_flight_s, "probe_interval_s": chain.probe_interval_s},
        ),
        "systemd_start_s": (
            "no less than the warm-up may take: systemd's own 90 s would end a start that warms",
            {"warmup_budget_s": chain.warmup_budget_s},
        ),
        "systemd_stop_s": (
            "the drain, and the engine's own end after it",
            {"drain_s": chain.drain_s},
        ),
    }
    reasons |= {name: ("", {}) for name in inputs.asked if name not in reasons}
    for name, (reason, known) in reasons.items():
        value = getattr(chain, name)
        said = f"asked for; {reason}".removesuffix("; ") if name in inputs.asked else reason
        source = longest.source if name == "generation_s" else None
        yield Choice(value, said, known, source).decision(f"timeouts.{name}")


def _room(chain: TimeoutChain, inputs: TimeoutInputs) -> str:
    more = chain.generation_s / inputs.slowest_generation_s
    if "generation_s" in inputs.asked or more < 1.5:
        return f"{(more - 1) * 100:.0f} % more, as the limits that are asked allow"
    return "half as much again, in tens"
