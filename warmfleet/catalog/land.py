"""Outlines of the land, for maps."""

from functools import cache

from msgspec import Struct

from warmfleet.catalog.load import read_rows

__all__ = ["Land", "land"]


class Land(Struct, frozen=True):
    """Coasts as closed rings of longitude and latitude in degrees."""

    source: str
    rings: tuple[tuple[tuple[float, float], ...], ...]


@cache
def land() -> Land:
    """Return the coasts of the world, without Antarctica."""
    (row,) = read_rows("land.json")["land"]
    rings = tuple(
        tuple(zip((x / 10 for x in ring[::2]), (y / 10 for y in ring[1::2]), strict=True))
        for ring in row["rings"]
    )
    return Land(row["source"], rings)
