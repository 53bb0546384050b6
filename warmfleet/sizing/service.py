"""What a caller sees of a replica under load: time to the first token, speed of a stream."""

import math
from collections.abc import Callable, Sequence

from msgspec import Struct

from warmfleet.sizing.demand import Demand
from warmfleet.sizing.replicas import busy_replicas
from warmfleet.sizing.roofline import Roofline

__all__ = ["Service", "service_of"]

_BEYOND = 0.05
"""The share of requests that may be slower than a 95th percentile."""


class Service(Struct, frozen=True):
    """One replica at its share of the load.

    Attributes:
        utilisation: busy share: the load over what it carries with every place taken.
        in_flight: requests that run at a time, mean.
        stream_tokens_per_s: speed of one answer while so many run.
        ttft_p95_s: time to the first token of the longest kind of prompt, from the engine's
            door: the way to the user is not in it.
    """

    utilisation: float
    in_flight: float
    stream_tokens_per_s: float
    ttft_p95_s: float


def service_of(demands: Sequence[Demand], roofline: Roofline, streams: int) -> Service:
    """Work out what callers see of one replica.

    Requests in flight follow from Little's law: ``rate x (prefill + output x step / (1 - p))``,
    where the step is that of so many streams and ``p`` is the share of the time that prompts take.
    The time to the first token adds 95th percentiles, so it errs to the long side: waiting for a
    place (Erlang C over the replica's places), for prompts ahead (M/M/1), the running step, the
    prompt itself, and the engine's own work on a request.

    Args:
        demands: the replica's share of the load.
        roofline: its speed.
        streams: requests that it can hold at a time; at least 1.
    """
    rate = sum(demand.rate for demand in demands)
    prompts = sum(demand.rate * roofline.prompt_share_s(demand.prompt_tokens) for demand in demands)
    reading = sum(demand.rate * roofline.prefill_s(demand.prompt_tokens) for demand in demands)
    utilisation = busy_replicas(demands, roofline, streams)
    context = _mean_context(demands)

    def step_s(held: float) -> float:
        return roofline.decode_step_s(max(1.0, held), context) / max(1 - prompts, _LEAST)

    def needed(held: float) -> float:
        answers = sum(demand.rate * demand.output_tokens for demand in demands)
        return reading + answers * step_s(held)

    in_flight = _settle(needed, float(streams))
    waits = math.inf
    if utilisation < 1 and in_flight < streams:
        waits = _place_wait_s(streams, in_flight, in_flight / rate) + _queue_wait_s(
            prompts, prompts / rate
        )
    longest = max(demand.prompt_tokens for demand in demands)
    alone = roofline.prefill_s(longest) + roofline.efficiency.request_s
    return Service(
        utilisation=utilisation,
        in_flight=in_flight,
        stream_tokens_per_s=1 / step_s(in_flight),
        ttft_p95_s=waits + roofline.decode_step_s(max(1.0, in_flight), context) + alone,
    )


_LEAST = 1e-9
_ROUNDS = 60
_NEAR = 1e-9


def _mean_context(demands: Sequence[Demand]) -> float:
    """Mean over the streams that are found running: long answers are found more often."""
    weights = [demand.rate * max(1, demand.output_tokens) for demand in demands]
    total = sum(weights)
    return sum(w * demand.context for w, demand in zip(weights, demands, strict=True)) / total


def _settle(needed: Callable[[float], float], most: float) -> float:
    """Return the requests in flight that need just as many; ``most`` where there are none.

    False position with the Illinois rule: steps are all but straight lines over the streams, so
    a few rounds do.
    """
    low, high = 0.0, most
    above, below = needed(low), needed(high) - high
    if below >= 0:
        return most
    kept = 0
    for _ in range(_ROUNDS):
        middle = (low * below - high * above) / (below - above)
        off = needed(middle) - middle
        if abs(off) < _NEAR * middle:
            return middle
        if off > 0:
            low, above = middle, off
            below = below / 2 if kept > 0 else below
            kept = 1
        else:
            high, below = middle, off
            above = above / 2 if kept < 0 else above
            kept = -1
    return high


def _place_wait_s(places: int, in_flight: float, held_s: float) -> float:
    """95th percentile of waiting for one of the places (M/M/c, Erlang C)."""
    blocked = 1.0
    for count in range(1, places + 1):  # Erlang B by its recurrence: no factorials
        blocked = in_flight * blocked / (count + in_flight * blocked)
    waiting = blocked / (1 - in_flight / places * (1 - blocked))
    return math.log(max(waiting / _BEYOND, 1.0)) * held_s / (places - in_flight)


def _queue_wait_s(busy: float, served_s: float) -> float:
    """95th percentile of waiting for prompts ahead (M/M/1): ``P(W>t) = p exp(-(1 - p) t / s)``."""
    return math.log(max(busy / _BEYOND, 1.0)) * served_s / (1 - busy)
