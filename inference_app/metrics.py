"""What Prometheus reads from one replica. Label sets are fixed, units are in the names."""

from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from inference_app.admission import Admission
from inference_app.state import ReplicaState, StateMachine

__all__ = ["CONTENT_TYPE", "Outcome", "ServiceMetrics"]

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_PREFIX: Final = "warmfleet_service"
_SECONDS: Final = (0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 30, 60, 120, 300, 600)


disable_created_metrics()  # type: ignore[no-untyped-call]  # series that nobody reads


class Outcome(StrEnum):
    """How a request ended."""

    COMPLETED = "completed"
    REFUSED = "refused"
    OVERLOADED = "overloaded"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    ENGINE_FAILED = "engine_failed"
    CUT = "cut"


class ServiceMetrics:
    """One registry of its own, so that two services in one process (tests) do not clash."""

    def __init__(self, machine: StateMachine, admission: Admission) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            f"{_PREFIX}_requests",
            "Requests by how they ended",
            ["outcome"],
            registry=self._registry,
        )
        self._first_token = Histogram(
            f"{_PREFIX}_first_token_seconds",
            "From the request to the first event of the engine",
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._duration = Histogram(
            f"{_PREFIX}_request_seconds",
            "From the request to the end of its answer",
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._prompt_tokens = Counter(
            f"{_PREFIX}_prompt_tokens",
            "Prompt tokens of completed requests",
            registry=self._registry,
        )
        self._output_tokens = Counter(
            f"{_PREFIX}_output_tokens",
            "Tokens generated for completed requests",
            registry=self._registry,
        )
        self._wasted_tokens = Counter(
            f"{_PREFIX}_wasted_tokens",
            "Tokens, about, generated for requests that did not complete: the client left, or the "
            "time ran out",
            registry=self._registry,
        )
        self._cold_start = Gauge(
            f"{_PREFIX}_cold_start_seconds",
            "Seconds of this start by phase",
            ["phase"],
            registry=self._registry,
        )
        in_flight = Gauge(
            f"{_PREFIX}_in_flight", "Requests that are here now", registry=self._registry
        )
        in_flight.set_function(lambda: admission.in_flight)
        waiting = Gauge(
            f"{_PREFIX}_waiting", "Requests that wait for a slot", registry=self._registry
        )
        waiting.set_function(lambda: admission.waiting)
        state = Gauge(
            f"{_PREFIX}_state", "1 for the state of the replica", ["state"], registry=self._registry
        )
        for name in ReplicaState:
            state.labels(name.value).set_function(partial(_is, machine, name))
        for outcome in Outcome:  # a rate over a series that appears late misses its first count
            self._requests.labels(outcome.value)

    def request_ended(self, outcome: Outcome, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(outcome.value).inc()
        if outcome not in {Outcome.REFUSED, Outcome.OVERLOADED}:
            self._duration.observe(seconds)

    def first_token(self, seconds: float) -> None:
        """Record the time to the first event."""
        self._first_token.observe(seconds)

    def tokens(self, usage: Mapping[str, object]) -> None:
        """Count the tokens that an engine reports for one request."""
        prompt, output = usage.get("prompt_tokens"), usage.get("completion_tokens")
        if isinstance(prompt, int):
            self._prompt_tokens.inc(prompt)
        if isinstance(output, int):
            self._output_tokens.inc(output)

    def wasted(self, tokens: int) -> None:
        """Count tokens that nobody has a use for."""
        self._wasted_tokens.inc(tokens)

    def cold_start(self, durations: Mapping[str, float]) -> None:
        """Publish the seconds of each phase of this start."""
        for phase, seconds in durations.items():
            self._cold_start.labels(phase).set(seconds)

    def exposition(self) -> bytes:
        """Return the text that Prometheus scrapes."""
        return generate_latest(self._registry)


def _is(machine: StateMachine, state: ReplicaState) -> bool:
    return machine.state is state
