"""Servers of one model: those that carry the load, and those that may be away."""

import math
from dataclasses import dataclass

from warmfleet.plan.gpu_pools import Pool
from warmfleet.sizing.offer import Offer
from warmfleet.sizing.replicas import servers_for

__all__ = ["Redundancy", "redundancy_of"]


@dataclass(frozen=True)
class Redundancy:
    """A server fails as a whole, with all replicas on it."""

    carrying: int
    """Servers that carry the load."""
    spare: int
    """Servers more, so that enough are up for the promised share of the time."""
    each: int
    """Replicas of the model on each of them."""

    @property
    def servers(self) -> int:
        """Of all of them."""
        return self.carrying + self.spare

    @property
    def replicas(self) -> int:
        """On all of them."""
        return self.servers * self.each


def redundancy_of(offer: Offer, pool: Pool, availability: float) -> Redundancy:
    """Spread the replicas that an offer needs evenly over servers of the pool."""
    carry, cards = offer.deployment.replicas.carry, offer.layout.count
    most = max(1, (pool.cards or cards) // cards)
    carrying, spare = servers_for(carry, most, availability)
    return Redundancy(carrying, spare, math.ceil(carry / carrying))
