"""How long everything on the path waits: the timeout chain with the reasons for its limits."""

from collections.abc import Iterator
from dataclasses import dataclass

from warmfleet.plan.choice import Choice
from warmfleet.plan.limits import IN_FLIGHT_PER_SLOT
from warmfleet.plan.models import Decision
from warmfleet.plan.timeouts import TimeoutChain, TimeoutInputs, solve_timeouts

__all__ = ["PlannedTimeouts", "plan_timeouts"]


@dataclass(frozen=True)
class PlannedTimeouts:
    """The chain and the reasons for its parts."""

    chain: TimeoutChain
    decisions: tuple[Decision, ...]


def plan_timeouts(
    slowest_generation_s: float, *, speed: str, source: str, budget_s: float, gap_s: float | None
) -> PlannedTimeouts:
    """Derive the chain from the slowest generation of all models.

    ``speed`` says where that time comes from ("measured"), ``budget_s`` is the longest warm-up,
    ``gap_s`` the planned time without a ready replica, None when another one is always up.
    """
    inputs = TimeoutInputs(
        slowest_generation_s=slowest_generation_s,
        rounds=IN_FLIGHT_PER_SLOT,
        warmup_budget_s=budget_s,
        gap_s=gap_s,
    )
    chain = solve_timeouts(inputs)
    return PlannedTimeouts(chain, tuple(_explained(chain, inputs, speed, source)))


def _explained(
    chain: TimeoutChain, inputs: TimeoutInputs, speed: str, source: str
) -> Iterator[Decision]:
    yield Choice(
        chain.generation_s,
        f"the longest prompt and answer with every slot busy take "
        f"{inputs.slowest_generation_s:.0f} s by {speed} speed; half as much again, in tens",
        {"slowest_generation_s": inputs.slowest_generation_s},
        source,
    ).decision("timeouts.generation_s")
    yield Choice(
        chain.proxy_read_s,
        "a plain answer is silent while it waits for a slot and is generated: more than that many "
        "generations",
        {"generation_s": chain.generation_s, "rounds": inputs.rounds},
    ).decision("timeouts.proxy_read_s")
    yield Choice(
        chain.queue_s,
        "another replica is up: only until it is seen"
        if inputs.gap_s is None
        else "one replica alone: as long as its cold start",
        {"probe_interval_s": chain.probe_interval_s},
    ).decision("timeouts.queue_s")
    yield Choice(
        chain.service_keepalive_s,
        "replicas keep idle connections longer than the proxy, or it would reuse closed ones",
        {"proxy_keepalive_s": chain.proxy_keepalive_s},
    ).decision("timeouts.service_keepalive_s")
