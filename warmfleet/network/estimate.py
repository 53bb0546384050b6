"""The round-trip time between users at a place and servers in a region."""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from warmfleet.catalog.models import Catalog, Place, Region, RttKind
from warmfleet.network.carriers import carrier_offset
from warmfleet.network.model import path_model
from warmfleet.network.routes import Point

__all__ = ["Basis", "PathLine", "RttEstimate", "between_regions", "estimate", "estimate_path"]

Basis = Literal["measured", "probed", "modelled"]

PathLine = Literal["bgp", "same-carrier", "cross-carrier", "ordinary", "premium", "hosted"]
"""Inside the mainland: BGP multi-line, or a single carrier's line to users of the same or another
one. Over its border: a cloud's BGP, the carriers' mass-market network, a better one (CN2, A
network, CMIN2, or peered directly), or between two hosts whose lines nobody stated."""

_NETS: dict[RttKind, str] = {
    "mainland": "mainland",
    "cross-border": "border",
    "hongkong": "border",
    "public-internet": "public",
    "cloud-backbone": "backbone",
}


class RttEstimate(Struct, frozen=True):
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
    line: PathLine = "bgp",
) -> RttEstimate:
    """Return the round-trip time between users and servers; what the user probed comes first.

    Args:
        place: Where the users are.
        region: Where the servers are.
        catalog: Whose carriers have which share of users, and what the user probed.
        carrier: Whose customers the users are; None: all carriers by their shares. Known to differ
            on ordinary lines over the border alone.
        line: What the path goes over, as far as the line of the servers decides it. One that was
            not measured on this kind of path counts as BGP. Probes are of BGP; what other lines
            differ by is of the model.
    """
    usual = _without_probes(place, region, catalog, carrier, line)
    ms = _probed(place, region, catalog, carrier)
    if ms is None:
        return usual
    if line == "bgp":
        return _scaled(usual, ms / usual.ms, "probed", "probes of the user")
    bgp = _without_probes(place, region, catalog, carrier, "bgp")
    source = f"{usual.source}, scaled by probes of the user"
    return _scaled(usual, ms / bgp.ms, "modelled", source)


def _probed(place: Place, region: Region, catalog: Catalog, carrier: str | None) -> float | None:
    """Return what was probed of a path: of this carrier, of all, or of those that there are."""
    probes = catalog.probes
    if not probes:
        return None
    for of in (carrier, None):
        if (ms := probes.get((place.id, region.id, of))) is not None:
            return ms
    of_carriers = [
        (row.fixed_share_pct, ms)
        for row in catalog.carriers
        if (ms := probes.get((place.id, region.id, row.id))) is not None
    ]
    total = sum(share for share, _ in of_carriers)
    return sum(share * ms for share, ms in of_carriers) / total if total else None


def _scaled(found: RttEstimate, factor: float, basis: Basis, source: str) -> RttEstimate:
    low, ms, high = (factor * value for value in (found.low_ms, found.ms, found.high_ms))
    return replace(found, ms=ms, low_ms=low, high_ms=high, basis=basis, source=source)


def _without_probes(
    place: Place, region: Region, catalog: Catalog, carrier: str | None, line: PathLine
) -> RttEstimate:
    kind = _kind(place, region)
    ends = Point(place.latitude, place.longitude), Point(region.latitude, region.longitude)
    start, end = ends if place.mainland or not region.mainland else ends[::-1]
    if carrier is None and _is_ordinary(kind, line):
        offset = sum(
            row.fixed_share_pct / 100 * carrier_offset(row.id, end) for row in catalog.carriers
        )
        return estimate_path(start, end, kind, line=line, beside_ms=offset)
    return estimate_path(start, end, kind, carrier=carrier, line=line)


def between_regions(one: Region, other: Region) -> RttEstimate:
    """Return the round-trip time between servers of two regions, over the backbone of a cloud."""
    start, end = (other, one) if other.mainland and not one.mainland else (one, other)
    kind: RttKind = "cloud-backbone"
    if start.mainland:
        kind = "mainland" if end.mainland else "cross-border"
    return estimate_path(
        Point(start.latitude, start.longitude), Point(end.latitude, end.longitude), kind
    )


def estimate_path(
    start: Point,
    end: Point,
    kind: RttKind,
    *,
    carrier: str | None = None,
    line: str = "bgp",
    beside_ms: float = 0.0,
) -> RttEstimate:
    """Return the round-trip time between two points.

    Args:
        start: One end; the one in the mainland if the path crosses its border.
        end: The other end.
        kind: Which paths it is like.
        carrier: Of the users in the mainland; None: the mean of its carriers.
        line: What the path goes over.
        beside_ms: Added to the answer.
    """
    found = path_model(_NETS[kind]).answer(start, end, line)
    basis: Basis = "measured" if found.measured else "modelled"
    if carrier is not None and _is_ordinary(kind, line):
        beside_ms += carrier_offset(carrier, end)
        basis = "modelled"
    ms = max(found.ms + beside_ms, 1.0)
    low, high = max(found.low + beside_ms, 0.0), found.high + beside_ms
    return RttEstimate(ms, min(low, ms), max(high, ms), basis, kind, found.source)


def _kind(place: Place, region: Region) -> RttKind:
    if place.mainland and region.mainland:
        return "mainland"
    if "HK" in {place.country, region.country} and place.mainland != region.mainland:
        return "hongkong"
    return "cross-border" if place.mainland or region.mainland else "public-internet"


def _is_ordinary(kind: RttKind, line: str) -> bool:
    return _NETS[kind] == "border" and line == "ordinary"
