"""Distances on the globe."""

import math

__all__ = ["distance_km"]

_EARTH_RADIUS_KM = 6371.0


def distance_km(
    latitude: float, longitude: float, to_latitude: float, to_longitude: float
) -> float:
    """Return the great-circle distance; the arguments are degrees."""
    lat1, lat2 = math.radians(latitude), math.radians(to_latitude)
    dlat, dlon = lat2 - lat1, math.radians(to_longitude - longitude)
    haversine = math.sin(dlat / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin(dlon / 2) ** 2
    return 2 * _EARTH_RADIUS_KM * math.asin(math.sqrt(haversine))
