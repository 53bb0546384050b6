"""The paths that users take over a line: their carriers, milliseconds, and who must cross over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warmfleet.catalog.lines import Line
from warmfleet.catalog.models import Catalog, Region
from warmfleet.network.distance import distance_km
from warmfleet.network.estimate import RttEstimate, estimate
from warmfleet.resolve.facts import UserFacts

__all__ = [
    "Path",
    "Reach",
    "best_line",
    "carrier_means",
    "mean_ms",
    "paths",
    "percentile_ms",
    "reaches",
]


@dataclass(frozen=True)
class Reach:
    """A share of the users, before a line is chosen."""

    weight: float
    carrier: str | None
    """None: outside the mainland, where the carriers of the catalog are not the users'."""
    users_inside: bool
    """In the mainland."""
    site_inside: bool
    km: float
    ordinary: RttEstimate
    """Over a BGP line."""


@dataclass(frozen=True)
class Path:
    """A share of the users on their way to a site."""

    weight: float
    carrier: str | None
    ms: float
    crosses: bool
    """Their carrier hands them to another one, through exchanges that congest."""


def reaches(
    region: Region, users: Sequence[UserFacts], shares: Mapping[str, float], catalog: Catalog
) -> list[Reach]:
    """Return each place and carrier of a site's users.

    Args:
        region: Where the site is.
        users: Its users; fractions are of all, and need not add up to 1.
        shares: Of the users in the mainland by carrier.
        catalog: What is known of paths.
    """
    whole = sum(user.fraction for user in users)
    found: list[Reach] = []
    for user in users:
        place, carriers = user.place, shares.items() if user.place.mainland else [(None, 1.0)]
        km = distance_km(place.latitude, place.longitude, region.latitude, region.longitude)
        found += [
            Reach(
                user.fraction / whole * share,
                carrier,
                place.mainland,
                region.mainland,
                km,
                estimate(place, region, catalog, carrier=carrier),
            )
            for carrier, share in carriers
        ]
    return found


def paths(lines: Sequence[Line], found: Sequence[Reach], catalog: Catalog) -> list[Path]:
    """Return the path of each; every user takes the line that suits best."""
    return [
        _path(
            lines[0] if reach.carrier is None else best_line(lines, reach.carrier), reach, catalog
        )
        for reach in found
    ]


def best_line(lines: Sequence[Line], carrier: str) -> Line:
    """Return the line that reaches a carrier without another one, else the first."""
    return next((line for line in lines if carrier in line.carriers), lines[0])


def mean_ms(found: Sequence[Path]) -> float:
    """Return the mean by weight."""
    return sum(path.weight * path.ms for path in found)


def percentile_ms(found: Sequence[Path], fraction: float) -> float:
    """Return the time that this fraction of the users does not exceed."""
    reached = 0.0
    for path in sorted(found, key=lambda path: path.ms):
        reached += path.weight
        if reached >= fraction - 1e-9:
            return path.ms
    return max(path.ms for path in found)


def carrier_means(found: Sequence[Path]) -> dict[str, float]:
    """Return the mean of each carrier's users."""
    means: dict[str, float] = {}
    for name in dict.fromkeys(path.carrier for path in found if path.carrier is not None):
        of_it = [path for path in found if path.carrier == name]
        means[name] = mean_ms(of_it) / sum(path.weight for path in of_it)
    return means


def _path(line: Line, reach: Reach, catalog: Catalog) -> Path:
    reached = reach.carrier is None or reach.carrier in line.carriers
    ms, thousand_km = reach.ordinary.ms, reach.km / 1000
    if line.kind == "single" and reach.users_inside and reach.site_inside:
        kind = "same-carrier" if reached else "cross-carrier"
        row = next(row for row in catalog.line_paths if row.path == kind)
        ms = max(0.0, ms + row.base_ms + row.per_1000_km_ms * thousand_km)
    elif line.kind == "premium" and reached and reach.users_inside != reach.site_inside:
        for premium in catalog.premium_paths:
            if premium.kind == reach.ordinary.kind:
                ms = min(ms, premium.base_ms + premium.per_1000_km_ms * thousand_km)
    return Path(reach.weight, reach.carrier, ms, not reached)
