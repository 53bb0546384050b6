"""What a carrier of the mainland adds to a path over the border, beside the mean of carriers."""

from warmfleet.catalog.rtt import rtt_net
from warmfleet.network.model import path_model
from warmfleet.network.routes import Point

__all__ = ["carrier_offset"]


def carrier_offset(carrier: str, end: Point) -> float:
    """Return the milliseconds of a carrier to one destination; to others, its own median."""
    net = rtt_net("border")
    places = set(path_model("border").cities_at_end(end))
    found = 0.0
    for name, place, ms, _ in net.carriers:
        if name == carrier and (place is None or place in places):
            found = ms  # the row of no place comes first
            if place is not None:
                break
    return found
