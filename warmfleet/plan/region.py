"""The region: nearest to the users, by their shares."""

import math
from collections.abc import Sequence

from inference_app.problems import nearest
from warmfleet.catalog.models import Catalog, Place, Region
from warmfleet.errors import SpecError
from warmfleet.plan.choice import Choice
from warmfleet.resolve.facts import UserFacts

__all__ = ["choose_region", "distance_km"]

_EARTH_RADIUS_KM = 6371.0


def choose_region(
    users: Sequence[UserFacts], catalog: Catalog, *, asked: str | None = None
) -> Choice[str]:
    """Choose the region with the least mean round-trip time over all users, or keep the asked one.

    Raises:
        SpecError: the asked region is not in the catalog; the nearest name is given.
    """
    if asked is not None:
        _must_be_known(asked, catalog)
    means = {region.id: _mean_rtt_ms(users, region, catalog) for region in catalog.regions}
    ranked = sorted(means, key=lambda name: (means[name], name))
    best = asked or ranked[0]
    region = next(row for row in catalog.regions if row.id == best)
    inputs: dict[str, str | int | float | bool] = {
        f"rtt_ms_{user.place.id}": _rtt_ms(user.place, region, catalog) for user in users
    }
    inputs |= {f"mean_rtt_ms_{name}": means[name] for name in ranked[:3]}
    others = f"; next is {ranked[1]} with {means[ranked[1]]:.1f} ms" if len(ranked) > 1 else ""
    if best != ranked[0]:
        others = f"; {ranked[0]} would have {means[ranked[0]]:.1f} ms"
    return Choice(
        best,
        f"{'least' if asked is None else 'asked for;'} mean round-trip time by users' shares: "
        f"{means[best]:.1f} ms (estimated from distance, median error "
        f"{catalog.rtt.median_error_ms:g} ms){others}",
        inputs,
        f"{catalog.rtt.source}; coordinates: {region.source}",
    )


def distance_km(place: Place, region: Region) -> float:
    """Return the great-circle distance."""
    lat1, lat2 = math.radians(place.latitude), math.radians(region.latitude)
    dlat, dlon = lat2 - lat1, math.radians(region.longitude - place.longitude)
    haversine = math.sin(dlat / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin(dlon / 2) ** 2
    return 2 * _EARTH_RADIUS_KM * math.asin(math.sqrt(haversine))


def _must_be_known(asked: str, catalog: Catalog) -> None:
    names = [region.id for region in catalog.regions]
    if asked not in names:
        hint = nearest(asked, names) or f"; known: {', '.join(names)}"
        msg = f"placement.region: found {asked!r}, which the catalog does not know{hint}"
        raise SpecError(msg)


def _mean_rtt_ms(users: Sequence[UserFacts], region: Region, catalog: Catalog) -> float:
    return sum(user.fraction * _rtt_ms(user.place, region, catalog) for user in users)


def _rtt_ms(place: Place, region: Region, catalog: Catalog) -> float:
    return catalog.rtt.base_ms + catalog.rtt.per_1000_km_ms * distance_km(place, region) / 1000
