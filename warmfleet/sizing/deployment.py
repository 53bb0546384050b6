"""As many replicas as keep a promise to callers, or what of the promise no number can keep."""

from collections.abc import Sequence
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from warmfleet.sizing.demand import Demand
from warmfleet.sizing.replicas import Replicas, replicas_for, spare_replicas
from warmfleet.sizing.roofline import Roofline
from warmfleet.sizing.service import Service, service_of

__all__ = ["Deployment", "Promise", "Shortfall", "deploy"]

_IDLE = 1e-6
"""Share of the load at which a replica counts as idle."""


class Promise(Struct, frozen=True):
    """What callers are promised.

    Attributes:
        availability: share of the time, between 0 and 1.
        ttft_p95_s: time to the first token of 95 % of requests; None: not promised.
        stream_tokens_per_s: speed of one answer; 0: not promised.
    """

    availability: float
    ttft_p95_s: float | None = None
    stream_tokens_per_s: float = 0.0


class Deployment(Struct, frozen=True):
    """Replicas, and what callers see while only as many are up as carry the load."""

    replicas: Replicas
    service: Service


class Shortfall(Struct, frozen=True):
    """What an idle replica does, where that is less than was promised."""

    service: Service
    ttft_short_s: float
    """Seconds that the first token comes too late; 0: it is in time."""
    stream_short_tokens_per_s: float
    """Tokens a second that an answer is too slow; 0: it is fast enough."""


def deploy(
    demands: Sequence[Demand], roofline: Roofline, *, streams: int, promise: Promise
) -> Deployment | Shortfall:
    """Find the fewest replicas that carry the load and keep the promise.

    More replicas shorten waiting and steps, but no further than those of an idle one.

    Args:
        demands: all load.
        roofline: speed of one replica.
        streams: requests that one replica can hold at a time; at least 1.
        promise: what callers are promised.
    """

    @cache
    def service_with(replicas: float) -> Service:
        share = [replace(demand, rate=demand.rate / replicas) for demand in demands]
        return service_of(share, roofline, streams)

    idle = service_with(1 / _IDLE)
    ttft_short, stream_short = _short(idle, promise)
    if ttft_short or stream_short:
        return Shortfall(idle, ttft_short, stream_short)
    needed = replicas_for(demands, roofline, streams=streams, availability=promise.availability)
    carry = needed.carry
    step = 1
    while _short(service_with(carry), promise) != (0, 0):  # gallop past the fewest,
        carry, step = carry + step, step * 2
    low = max(needed.carry, carry - step // 2)
    while low < carry:  # and halve back to it
        middle = (low + carry) // 2
        if _short(service_with(middle), promise) == (0, 0):
            carry = middle
        else:
            low = middle + 1
    spare = spare_replicas(carry, promise.availability)
    return Deployment(Replicas(needed.busy, carry, spare), service_with(carry))


def _short(service: Service, promise: Promise) -> tuple[float, float]:
    late = 0.0
    if promise.ttft_p95_s is not None:
        late = max(0.0, service.ttft_p95_s - promise.ttft_p95_s)
    return late, max(0.0, promise.stream_tokens_per_s - service.stream_tokens_per_s)
