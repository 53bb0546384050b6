"""The timeout chain: one solver, and the relations that every chain must keep.

An outer hop that gives up before an inner one cuts answers that are still being made, and its
client sends them again; an inner hop that closes idle connections before the outer one reuses
them gives sporadic 502. So all limits are derived together, from the longest generation; what a
spec asks for is kept, and the rest gives way as far as it can.
"""

import math
from collections.abc import Mapping
from typing import Self

from msgspec import Struct, field
from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "RELATIONS",
    "Relation",
    "TimeoutChain",
    "TimeoutConflictError",
    "TimeoutInputs",
    "conflict",
    "solve_timeouts",
]

_PROBE_INTERVAL_S = 1.0
"""The proxy notices a drained or dead replica within this; a probe costs well under 1 ms."""

_CONNECT_S = 2.0
"""Replicas are in the proxy's own network: no answer for this long means the host is gone."""

_SEND_S = 30.0

_PROXY_IDLE_S = 60.0
"""Idle connections that the proxy keeps to a replica."""

_KEPT_LONGER_S = 15.0
"""How much longer the other side keeps an idle connection than the one that reuses it."""

_CLIENTS_IDLE_S = 90.0
"""Of the usual HTTP client pools the longest: 5 s httpx, 15 s aiohttp, 90 s Go."""

_CLIENT_KEEPALIVE_S = 120.0

_SHORT_GAP_PROBES = 10
"""Probe intervals a request may wait for a replica when another one is always up."""


class Relation(Struct, frozen=True):
    """``outer`` must be greater than ``inner`` and ``also`` together, else ``harm`` happens."""

    outer: str
    inner: str
    harm: str
    also: str | None = None

    def needed(self, limits: Mapping[str, float]) -> float:
        """Return what the outer limit must be greater than, in seconds."""
        return limits[self.inner] + (limits[self.also] if self.also else 0)


RELATIONS = (
    Relation("generation_s", "slowest_generation_s", "the service cuts the longest answers"),
    Relation("proxy_read_s", "in_flight_s", "the proxy cuts answers that wait for their turn"),
    Relation("proxy_read_s", "generation_s", "the proxy cuts answers that are still being made"),
    Relation("client_s", "proxy_read_s", "clients give up and send the request again"),
    Relation("client_s", "queue_s", "clients give up on a request that is still queued"),
    Relation("client_s", "proxy_read_s", "clients give up on a request that was queued", "queue_s"),
    Relation("proxy_read_s", "proxy_connect_s", "a dead host is noticed later than a slow one"),
    Relation("proxy_send_s", "proxy_connect_s", "a dead host is noticed later than a slow one"),
    Relation("service_keepalive_s", "proxy_keepalive_s", "the proxy reuses closed connections"),
    Relation("client_keepalive_s", "client_idle_s", "clients reuse closed connections"),
    Relation("drain_s", "in_flight_s", "a restart cuts answers that wait for their turn"),
    Relation("drain_s", "generation_s", "a restart cuts answers that are still being made"),
    Relation("drain_s", "probe_interval_s", "the proxy still sends to a replica that has stopped"),
    Relation("systemd_stop_s", "drain_s", "systemd kills a replica that is still draining"),
    Relation("systemd_start_s", "warmup_budget_s", "systemd kills a start that is still warming"),
    Relation("queue_s", "probe_interval_s", "queued requests give up before a replica is seen"),
)
"""Every pair that the chain must keep; the first of each pair is the outer limit."""


class TimeoutChain(BaseModel):
    """All limits of the path client, proxy, service, engine, in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    client_s: float = Field(gt=0, description="what clients should wait for a whole answer")
    client_idle_s: float = Field(gt=0, description="idle connections that clients keep at most")
    proxy_read_s: float = Field(gt=0, description="silence that the proxy bears from a replica")
    proxy_send_s: float = Field(gt=0, description="stall that the proxy bears while sending")
    proxy_connect_s: float = Field(gt=0)
    proxy_keepalive_s: float = Field(gt=0, description="idle connections from proxy to replica")
    client_keepalive_s: float = Field(gt=0, description="idle connections from client to proxy")
    service_keepalive_s: float = Field(gt=0, description="idle connections, seen by the replica")
    slowest_generation_s: float = Field(gt=0, description="the longest answer, by speed")
    generation_s: float = Field(gt=0, description="longest that one generation may take")
    in_flight_s: float = Field(gt=0, description="longest that an admitted request may take")
    probe_interval_s: float = Field(gt=0, description="how often the proxy asks for readiness")
    drain_s: float = Field(gt=0, description="in-flight work may end within this after SIGTERM")
    queue_s: float = Field(gt=0, description="longest wait at the proxy while no replica is ready")
    warmup_budget_s: float = Field(gt=0, description="the longest of all models")
    systemd_start_s: float = Field(gt=0)
    systemd_stop_s: float = Field(gt=0)

    @model_validator(mode="after")
    def _relations_hold(self) -> Self:
        limits = self.model_dump()
        if (broken := _broken(limits)) is not None:
            raise ValueError(str(TimeoutConflictError(broken, limits)))
        return self


class TimeoutConflictError(ValueError):
    """Two limits that cannot stand together."""

    def __init__(self, relation: Relation, limits: Mapping[str, float]) -> None:
        self.relation = relation
        self.limits = limits
        inner = relation.inner + (f" + {relation.also}" if relation.also else "")
        super().__init__(
            conflict(
                relation.outer,
                limits[relation.outer],
                inner,
                relation.needed(limits),
                relation.harm,
            )
        )


class TimeoutInputs(Struct, frozen=True):
    """What the chain follows from."""

    slowest_generation_s: float
    """The longest prompt and the longest answer, with every slot busy, at the measured speed."""
    rounds: int
    """Generations that one in-flight request may have to wait for, its own included."""
    warmup_budget_s: float
    gap_s: float | None
    """Planned time without any ready replica; None when another replica is always up."""
    asked: Mapping[str, float] = field(default_factory=dict)
    """Limits that the spec asks for, by field of the chain: they are kept."""


class _Slack(Struct, frozen=True):
    """Room between a limit and what it must be greater than."""

    generation: float
    """Over the slowest generation that the speed gives, as a factor."""
    step: int
    """Generations are rounded up to it."""
    hop: float
    """Seconds between hops."""
    short_gap_probes: int
    """Probe intervals that requests wait for a replica while another one is up."""


_COMFORTABLE = _Slack(1.5, 10, 10, _SHORT_GAP_PROBES)
_LEAST = _Slack(1.0, 1, 1, 2)
"""Where a spec asks for short limits; nothing is left then for a slow day."""


def solve_timeouts(inputs: TimeoutInputs) -> TimeoutChain:
    """Derive the chain from the inside out; the result keeps every relation, and what was asked.

    Raises:
        TimeoutConflictError: what is asked cannot be kept, not even with the least room between
            hops; with the first pair that conflicts then.
    """
    limits = _limits(inputs, _COMFORTABLE)
    if inputs.asked and _broken(limits) is not None:
        limits = _limits(inputs, _LEAST)
    if (broken := _broken(limits)) is not None:
        raise TimeoutConflictError(broken, limits)
    return TimeoutChain(**limits)


def conflict(outer: str, outer_s: float, inner: str, inner_s: float, harm: str) -> str:
    """Say which pair of limits conflicts, in one line."""
    return f"{outer} is {outer_s:g} s; needed: more than {inner} ({inner_s:g} s), else {harm}"


def _limits(inputs: TimeoutInputs, slack: _Slack) -> dict[str, float]:
    asked = inputs.asked
    found: dict[str, float] = {
        "slowest_generation_s": math.ceil(inputs.slowest_generation_s * 1000) / 1000,
        "warmup_budget_s": inputs.warmup_budget_s,
    }

    def take(name: str, derived: float) -> float:
        found[name] = asked.get(name, derived)
        return found[name]

    slowest = found["slowest_generation_s"]
    generation = take(
        "generation_s", _above(slowest, _round_up(slowest * slack.generation, slack.step))
    )
    in_flight = found["in_flight_s"] = generation * max(1, inputs.rounds)
    probe = found["probe_interval_s"] = _PROBE_INTERVAL_S
    gap = slack.short_gap_probes * probe if inputs.gap_s is None else inputs.gap_s
    queue = take("queue_s", max(gap, 2 * probe) if inputs.gap_s is None else gap)
    connect = take("proxy_connect_s", _CONNECT_S)
    take("proxy_send_s", max(_SEND_S, connect + slack.hop))
    read = take("proxy_read_s", max(in_flight, connect) + slack.hop)
    take("client_s", read + queue + slack.hop)
    drain = take("drain_s", max(in_flight + slack.hop, 2 * probe))
    take("systemd_stop_s", drain + _KEPT_LONGER_S)
    take("systemd_start_s", inputs.warmup_budget_s + 30)
    # The replica's side may be asked for alone: then the proxy's gives way.
    service = asked.get("service_keepalive_s", math.inf)
    idle = take("proxy_keepalive_s", min(_PROXY_IDLE_S, service - min(_KEPT_LONGER_S, service / 2)))
    take("service_keepalive_s", idle + _KEPT_LONGER_S)
    clients = take("client_idle_s", _CLIENTS_IDLE_S)
    take("client_keepalive_s", max(_CLIENT_KEEPALIVE_S, clients + _KEPT_LONGER_S))
    return found


def _broken(limits: Mapping[str, float]) -> Relation | None:
    return next(
        (relation for relation in RELATIONS if limits[relation.outer] <= relation.needed(limits)),
        None,
    )


def _above(limit: float, rounded: float) -> float:
    """Whole seconds may be equal to what they must be above."""
    return rounded if rounded > limit else rounded + 1


def _round_up(seconds: float, step: int) -> float:
    return float(math.ceil(seconds / step) * step)
