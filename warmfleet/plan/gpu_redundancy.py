"""Servers of one model: those that carry the load, and those that may be away."""

import math

from msgspec import Struct
from msgspec.structs import replace

from warmfleet.plan.gpu_pools import Pool
from warmfleet.plan.gpu_wanted import Wanted
from warmfleet.sizing.deployment import Shortfall, deploy
from warmfleet.sizing.offer import Offer
from warmfleet.sizing.replicas import servers_for

__all__ = ["Redundancy", "offer_for", "redundancy_of"]


class Redundancy(Struct, frozen=True):
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


def offer_for(wanted: Wanted, offer: Offer) -> Offer:
    """Return the same cards with the replicas that another load of the model needs."""
    found = deploy(wanted.demands, offer.roofline, streams=offer.streams, promise=wanted.promise)
    if isinstance(found, Shortfall):  # an idle replica is as fast whatever the load
        raise AssertionError(found)
    return replace(offer, deployment=found)
