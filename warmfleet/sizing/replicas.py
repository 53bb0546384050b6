"""How many replicas carry a load, and how many more keep the promise while one is away."""

import bisect
import math
from collections.abc import Iterable, Sequence

from msgspec import Struct

from warmfleet.sizing.demand import Demand
from warmfleet.sizing.roofline import Roofline

__all__ = [
    "SERVER_AVAILABILITY",
    "TARGET_UTILISATION",
    "Replicas",
    "busy_replicas",
    "replicas_for",
    "servers_for",
    "spare_replicas",
    "up_share",
]

TARGET_UTILISATION = 0.8
"""Busy share of a replica at peak: above it, waiting grows faster than load."""

SERVER_AVAILABILITY = 0.99
"""One leased server with its restarts and repairs: 3.7 days a year away. An assumption, stated."""


class Replicas(Struct, frozen=True):
    """Replicas of one model.

    Attributes:
        busy: how many the load keeps busy, each running as many requests as it can hold.
        carry: how many keep each below the target utilisation.
        spare: how many more, so that enough are up for the promised share of the time.
    """

    busy: float
    carry: int
    spare: int

    @property
    def total(self) -> int:
        """Replicas to run."""
        return self.carry + self.spare


def replicas_for(
    demands: Sequence[Demand],
    roofline: Roofline,
    *,
    streams: int,
    availability: float,
    utilisation: float = TARGET_UTILISATION,
) -> Replicas:
    """Count the replicas that a load needs.

    Args:
        demands: what is asked, over all callers.
        roofline: speed of one replica.
        streams: requests that one replica can hold at a time; at least 1.
        availability: promised share of the time, between 0 and 1.
        utilisation: busy share of a replica at peak.
    """
    busy = busy_replicas(demands, roofline, streams)
    carry = max(1, math.ceil(_exact(busy / utilisation)))
    return Replicas(busy=busy, carry=carry, spare=spare_replicas(carry, availability))


def busy_replicas(demands: Sequence[Demand], roofline: Roofline, streams: int) -> float:
    """Return how many replicas the load keeps busy, each with every place taken.

    ``sum(rate x (output x step / streams + prompt))``: the time that the requests of a second
    take. Each kind is counted at its own length, so more of any never lowers the sum.
    """
    return sum(
        demand.rate * roofline.request_s(demand.prompt_tokens, demand.output_tokens, streams)
        for demand in demands
    )


def servers_for(carry: int, per_server: int, availability: float) -> tuple[int, int]:
    """Return servers that carry the load and servers to spare, where several replicas share one.

    A server takes all of its replicas with it: what is spared is servers, not replicas.

    Args:
        carry: replicas that carry the load.
        per_server: replicas that one server holds.
        availability: promised share of the time, between 0 and 1.
    """
    servers = math.ceil(carry / per_server)
    return servers, spare_replicas(servers, availability)


def spare_replicas(
    carry: int, availability: float, server_availability: float = SERVER_AVAILABILITY
) -> int:
    """Return how many replicas are needed beyond those that carry the load.

    The fewest with which at least ``carry`` are up for the promised share of the time, if servers
    fail independently (binomial): one for small fleets at 99.9%, more for large ones.
    """
    most = 1

    def enough(spare: int) -> bool:
        return up_share(carry, carry + spare, server_availability) >= availability - _ROUNDING

    if enough(0):
        return 0
    while not enough(most):
        most *= 2
    return bisect.bisect_left(range(most + 1), True, key=enough)


_ROUNDING = 1e-12
_NOTHING = 1e-17


def up_share(needed: int, replicas: int, server_availability: float) -> float:
    """Return the share of the time that at least so many of all replicas are up.

    Summed from the likeliest number of them away to where more add nothing: of a million replicas
    a few hundred terms count. The first is worked out by logarithms, since ways to choose are
    beyond what a float holds.
    """
    spare, down = replicas - needed, 1 - server_availability
    odds = down / server_availability
    if spare < replicas * down:
        ratios = (away / ((replicas - away + 1) * odds) for away in range(spare, 0, -1))
        return _sum_of(_away_share(spare, replicas, down), ratios)
    if needed == 0:
        return 1.0
    ratios = ((replicas - away) * odds / (away + 1) for away in range(spare + 1, replicas))
    return 1 - _sum_of(_away_share(spare + 1, replicas, down), ratios)


def _away_share(away: int, replicas: int, down: float) -> float:
    """Share of the time that just so many are away."""
    ways = math.lgamma(replicas + 1) - math.lgamma(away + 1) - math.lgamma(replicas - away + 1)
    return math.exp(ways + away * math.log(down) + (replicas - away) * math.log1p(-down))


def _sum_of(term: float, ratios: Iterable[float]) -> float:
    """Add up terms that fall, each by its ratio, while they count."""
    total = term
    for ratio in ratios:
        term *= ratio
        if term <= total * _NOTHING:
            break
        total += term
    return total


def _exact(value: float) -> float:
    """Drop the last binary digits, so that a whole number is not rounded up to the next."""
    return round(value, 9)
