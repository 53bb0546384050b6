"""The round-trip time between users at a place and servers in a region."""

from collections.abc import Mapping
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
    probes: Mapping[tuple[str, str], float] | None = None,
) -> RttEstimate:
    """Return the round-trip time between users and servers.

    Args:
        place: Where the users are.
        region: Where the servers are.
        catalog: Whose carriers have which share of users.
        carrier: Whose customers the users are; None: all carriers by their shares. Known to differ
            on ordinary lines over the border alone.
        line: What the path goes over, as far as the line of the servers decides it. One that was
            not measured on this kind of path counts as BGP.
        probes: Milliseconds that the user measured, by ids of place and region: they come first.
    """
    kind = _kind(place, region)
    ends = Point(place.latitude, place.longitude), Point(region.latitude, region.longitude)
    start, end = ends if place.mainland or not region.mainland else ends[::-1]
    if carrier is None and _is_ordinary(kind, line):
        offset = sum(
            row.fixed_share_pct / 100 * carrier_offset(row.id, end) for row in catalog.carriers
        )
        found = estimate_path(start, end, kind, line=line, beside_ms=offset)
    else:
        found = estimate_path(start, end, kind, carrier=carrier, line=line)
    probed = (probes or {}).get((place.id, region.id))
    if probed is not None:
        scale = probed / found.ms
        return replace(
            found,
            ms=probed,
            low_ms=found.low_ms * scale,
            high_ms=found.high_ms * scale,
            basis="probed",
            source="probes of the user",
        )
    return found


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
