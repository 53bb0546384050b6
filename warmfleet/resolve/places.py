"""Places of the catalog by the names that people and databases have for them."""

from inference_app.problems import nearest
from warmfleet.catalog.models import Catalog, Place
from warmfleet.errors import SpecError

__all__ = ["find_place", "places_by_country"]


def find_place(at: str, where: str, catalog: Catalog) -> Place:
    """Return the place of that id.

    Raises:
        SpecError: the catalog does not know it; the nearest one is named.
    """
    for place in catalog.places:
        if place.id == where:
            return place
    msg = f"{at}: found {where!r}, which the catalog does not know{_hint(where, catalog)}"
    raise SpecError(msg)


def places_by_country(catalog: Catalog) -> dict[str, Place]:
    """Return places by their country's ISO code; mainland China has none, only provinces."""
    return {place.country: place for place in catalog.places if not place.mainland}


def _hint(where: str, catalog: Catalog) -> str:
    names = {place.name: place.id for place in catalog.places}
    names |= {place.country: place.id for place in catalog.places if not place.mainland}
    country, _, part = where.upper().partition("-")
    if where in names or (part and country in names):
        return f"; did you mean {names.get(where) or names[country]!r}?"
    known = {place.id for place in catalog.places} | set(names)
    return nearest(where, known) or "; needed a province such as CN-GD or a country such as SG"
