"""Measured round-trip times, and what a fit made of them."""

from functools import cache
from typing import Literal

from pydantic import Field

from warmfleet.catalog.load import read_table
from warmfleet.catalog.rows import Row

__all__ = [
    "Band",
    "CarrierOffset",
    "City",
    "HeldOut",
    "Hub",
    "Measured",
    "Route",
    "RttNet",
    "Term",
    "hubs",
    "rtt_net",
]

City = tuple[str, float, float]
"""Name, latitude, longitude."""

Measured = tuple[int, int, int, float, float, int, int]
"""From, to (of ``cities``), line (of ``lines``), ms, weight in the fit, source (of ``sources``),
and samples: 1 is a single probe, 10 a mean or median of as many or more."""

Term = tuple[float, float | None, float | None]
"""Of a covariance: ms, and the km over which it fades on either side; None: it does not."""

Route = Literal["cable", "core", "gateway"]

Band = tuple[float, float, int]
"""What 10 of 100 errors are below and 10 above, in parts of ms + 40, and on how many pairs."""

HeldOut = tuple[str, str, int, float, float, float]
"""What was held out, line, errors, their median and 90th percentile in ms, % within the band."""

CarrierOffset = tuple[str, int | None, float, int]
"""Carrier, destination (None: any other), ms beside the mean of carriers, and on how many pairs."""


class Hub(Row):
    """A place where cables meet."""

    name: str
    latitude: float = Field(ge=-90, le=90)
    longitude: float = Field(ge=-180, le=180)
    cables: tuple[str, ...] = Field(description="hubs it is joined to")


class RttNet(Row):
    """Measured paths of one kind, and the model that was fitted on them."""

    id: str
    both_ways: bool = Field(description="either end may be that of users")
    route: Route = Field(description="by cables, by the core of the mainland, or from it abroad")
    mean: tuple[float, ...] = Field(description="ms, then ms a 1000 km of each length of the path")
    terms: tuple[Term, ...]
    least: tuple[float, float] | None = Field(
        default=None, description="ms, and ms a 1000 km of cable: no estimate is less"
    )
    between_lines: float = Field(ge=0, le=1, description="what one line tells of another")
    noise_ms: float = Field(gt=0, description="of one measurement")
    lines: tuple[str, ...]
    cities: tuple[City, ...]
    sources: tuple[str, ...]
    rows: tuple[Measured, ...]
    bands: tuple[tuple[Band, Band, Band], ...] = Field(
        description="of each line, by how many ends are of no measured path"
    )
    held_out: tuple[HeldOut, ...]
    carriers: tuple[CarrierOffset, ...] = ()


@cache
def rtt_net(kind: str) -> RttNet:
    """Return the paths of a kind."""
    return next(
        RttNet.model_validate(row) for row in read_table("rtt.json", "nets") if row["id"] == kind
    )


@cache
def hubs() -> tuple[Hub, ...]:
    """Return where cables meet."""
    return tuple(Hub.model_validate(row) for row in read_table("rtt.json", "hubs"))
