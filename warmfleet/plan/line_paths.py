"""The paths that users take over a line: their carriers, milliseconds, and who must cross over."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from warmfleet.catalog.lines import Line
from warmfleet.catalog.models import Catalog, Place, Region
from warmfleet.network.estimate import PathLine, RttEstimate, estimate
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

_INSIDE: tuple[PathLine, ...] = ("bgp", "same-carrier", "cross-carrier")
_ACROSS: tuple[PathLine, ...] = ("bgp", "ordinary", "premium")


class Reach(Struct, frozen=True):
    """A share of the users, before a line is chosen."""

    weight: float
    carrier: str | None
    """None: outside the mainland, where the carriers of the catalog are not the users'."""
    place: Place
    region: Region
    over: Mapping[PathLine, RttEstimate]
    """Over what a line may make of the path."""


class Path(Struct, frozen=True):
    """A share of the users on their way to a site."""

    weight: float
    carrier: str | None
    ms: float
    crosses: bool
    """Their carrier hands them to another one, through exchanges that congest."""
    low_ms: float
    high_ms: float
    """80 of 100 such paths lie between the two."""


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
        kinds = _INSIDE if place.mainland and region.mainland else _ACROSS
        if not place.mainland and not region.mainland:
            kinds = ("bgp",)
        for carrier, share in carriers:
            over = {
                kind: estimate(place, region, catalog, carrier=carrier, line=kind) for kind in kinds
            }
            found.append(Reach(user.fraction / whole * share, carrier, place, region, over))
    return found


def paths(lines: Sequence[Line], found: Sequence[Reach]) -> list[Path]:
    """Return the path of each; every user takes the line that suits best."""
    return [
        _path(lines[0] if reach.carrier is None else best_line(lines, reach.carrier), reach)
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


def _path(line: Line, reach: Reach) -> Path:
    reached = reach.carrier is None or reach.carrier in line.carriers
    inside = reach.place.mainland and reach.region.mainland
    rtt = reach.over["bgp"]
    if line.kind == "single" and inside:
        rtt = reach.over["same-carrier" if reached else "cross-carrier"]
    elif line.kind == "premium" and "premium" in reach.over:
        # Fits cross each other; nobody sells a premium line that is slower than BGP.
        better, ordinary = reach.over["premium"], reach.over["ordinary"]
        rtt = min(rtt, better, key=_ms) if reached else max(rtt, ordinary, key=_ms)
    return Path(reach.weight, reach.carrier, rtt.ms, not reached, rtt.low_ms, rtt.high_ms)


def _ms(rtt: RttEstimate) -> float:
    return rtt.ms
