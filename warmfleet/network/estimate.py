"""The round-trip time between users at a place and servers in a region."""

from dataclasses import dataclass
from typing import Literal

from warmfleet.catalog.models import Catalog, Place, Region, RttKind
from warmfleet.network.distance import distance_km

__all__ = ["Basis", "RttEstimate", "estimate"]

Basis = Literal["measured", "probed", "modelled"]


@dataclass(frozen=True)
class RttEstimate:
    """A round-trip time; 80 of 100 truths lie between ``low_ms`` and ``high_ms``."""

    ms: float
    low_ms: float
    high_ms: float
    basis: Basis
    kind: RttKind
    source: str


def estimate(
    place: Place,
    region: Region,
    catalog: Catalog,
    *,
    carrier: str | None = None,
    line: str = "bgp",
) -> RttEstimate:
    """Return the round-trip time between users and servers.

    Args:
        place: Where the users are.
        region: Where the servers are.
        catalog: What is known of paths.
        carrier: Whose customers the users are; None: all carriers by their shares.
        line: The line product of the servers, as the catalog names it.
    """
    del carrier, line  # no difference is known to the lines over distance
    kind = _kind(place, region)
    row = next(row for row in catalog.rtt if row.kind == kind)
    km = distance_km(place.latitude, place.longitude, region.latitude, region.longitude)
    ms = row.base_ms + row.per_1000_km_ms * km / 1000
    return RttEstimate(
        ms, max(ms - row.below_ms, 0.0), ms + row.above_ms, "modelled", kind, row.source
    )


def _kind(place: Place, region: Region) -> RttKind:
    if place.mainland and region.mainland:
        return "mainland"
    if "HK" in {place.country, region.country} and place.mainland != region.mainland:
        return "hongkong"
    return "cross-border" if place.mainland or region.mainland else "public-internet"
