"""The timeout chain: one solver, and the relations that every chain must keep.

An outer hop that gives up before an inner one cuts answers that are still being made, and its
client sends them again; an inner hop that closes idle connections before the outer one reuses
them gives sporadic 502. So all limits are derived together, from the longest generation.
"""

import math
from dataclasses import dataclass
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "RELATIONS",
    "Relation",
    "TimeoutChain",
    "TimeoutInputs",
    "conflict",
    "solve_timeouts",
]

_MARGIN = 1.5
"""Room above the slowest generation that the measured speed gives."""

_PROBE_INTERVAL_S = 1.0
"""The proxy notices a drained or dead replica within this; a probe costs well under 1 ms."""

_CONNECT_S = 2.0
"""Replicas are in the proxy's own network: no answer for this long means the host is gone."""

_PROXY_IDLE_S = 60.0
"""Idle connections that the proxy keeps to a replica."""

_CLIENT_IDLE_S = 120.0
"""Above the idle time of the usual HTTP client pools (5 s httpx, 15 s aiohttp, 90 s Go)."""

_SHORT_GAP_PROBES = 10
"""Probe intervals a request may wait for a replica when another one is always up."""


@dataclass(frozen=True)
class Relation:
    """``outer`` must be greater than ``inner``, else ``harm`` happens."""

    outer: str
    inner: str
    harm: str


RELATIONS = (
    Relation("client_s", "proxy_read_s", "clients give up and send the request again"),
    Relation("client_s", "queue_s", "clients give up on a request that is still queued"),
    Relation("proxy_read_s", "generation_s", "the proxy cuts answers that are still being made"),
    Relation("proxy_read_s", "proxy_connect_s", "a dead host is noticed later than a slow one"),
    Relation("proxy_send_s", "proxy_connect_s", "a dead host is noticed later than a slow one"),
    Relation("service_keepalive_s", "proxy_keepalive_s", "the proxy reuses closed connections"),
    Relation("drain_s", "generation_s", "a restart cuts answers that are still being made"),
    Relation("drain_s", "probe_interval_s", "the proxy still sends to a replica that has stopped"),
    Relation("systemd_stop_s", "drain_s", "systemd kills a replica that is still draining"),
    Relation("queue_s", "probe_interval_s", "queued requests give up before a replica is seen"),
)
"""Every pair that the chain must keep; the first of each pair is the outer limit."""


class TimeoutChain(BaseModel):
    """All limits of the path client, proxy, service, engine, in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    client_s: float = Field(gt=0, description="what clients should wait for a whole answer")
    proxy_read_s: float = Field(gt=0, description="silence that the proxy bears from a replica")
    proxy_send_s: float = Field(gt=0, description="stall that the proxy bears while sending")
    proxy_connect_s: float = Field(gt=0)
    proxy_keepalive_s: float = Field(gt=0, description="idle connections from proxy to replica")
    client_keepalive_s: float = Field(gt=0, description="idle connections from client to proxy")
    service_keepalive_s: float = Field(gt=0, description="idle connections, seen by the replica")
    generation_s: float = Field(gt=0, description="longest that one generation may take")
    probe_interval_s: float = Field(gt=0, description="how often the proxy asks for readiness")
    drain_s: float = Field(gt=0, description="in-flight work may end within this after SIGTERM")
    queue_s: float = Field(gt=0, description="longest wait at the proxy while no replica is ready")
    systemd_start_s: float = Field(gt=0)
    systemd_stop_s: float = Field(gt=0)

    @model_validator(mode="after")
    def _relations_hold(self) -> Self:
        for relation in RELATIONS:
            outer, inner = getattr(self, relation.outer), getattr(self, relation.inner)
            if outer <= inner:
                msg = conflict(relation.outer, outer, relation.inner, inner, relation.harm)
                raise ValueError(msg)
        return self


@dataclass(frozen=True)
class TimeoutInputs:
    """What the chain follows from."""

    slowest_generation_s: float
    """The longest prompt and the longest answer, with every slot busy, at the measured speed."""
    rounds: int
    """Generations that one in-flight request may have to wait for, its own included."""
    warmup_budget_s: float
    gap_s: float | None
    """Planned time without any ready replica; None when another replica is always up."""


def solve_timeouts(inputs: TimeoutInputs) -> TimeoutChain:
    """Derive the chain from the inside out; the result keeps every relation."""
    generation = _round_up(inputs.slowest_generation_s * _MARGIN, 10)
    in_flight = generation * max(1, inputs.rounds)
    queue = _SHORT_GAP_PROBES * _PROBE_INTERVAL_S if inputs.gap_s is None else inputs.gap_s
    proxy_read = in_flight + 10
    drain = in_flight + 10
    return TimeoutChain(
        client_s=proxy_read + queue + 10,
        proxy_read_s=proxy_read,
        proxy_send_s=30,
        proxy_connect_s=_CONNECT_S,
        proxy_keepalive_s=_PROXY_IDLE_S,
        client_keepalive_s=_CLIENT_IDLE_S,
        service_keepalive_s=_PROXY_IDLE_S + 15,
        generation_s=generation,
        probe_interval_s=_PROBE_INTERVAL_S,
        drain_s=drain,
        queue_s=queue,
        systemd_start_s=inputs.warmup_budget_s + 30,
        systemd_stop_s=drain + 15,
    )


def conflict(outer: str, outer_s: float, inner: str, inner_s: float, harm: str) -> str:
    """Say which pair of limits conflicts, in one line."""
    return f"{outer} is {outer_s:g} s; needed: more than {inner} ({inner_s:g} s), else {harm}"


def _round_up(seconds: float, step: int) -> float:
    return float(math.ceil(seconds / step) * step)
