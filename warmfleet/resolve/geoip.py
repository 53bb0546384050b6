"""Places of addresses, by what a MaxMind database says of them."""

from collections import Counter
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final

import maxminddb

from warmfleet.catalog.models import Catalog
from warmfleet.resolve.places import places_by_country

__all__ = ["NOWHERE", "Finder"]

NOWHERE: Final = ("unreadable", "private", "unknown", "elsewhere", "no province")
"""What becomes of an address that is at no place of the catalog."""

_MAINLAND = "CN"


class Finder:
    """Looks addresses up; none is kept.

    Args:
        database: with subdivisions, else nobody in mainland China has a province.
        catalog: whose places are looked for.
    """

    def __init__(self, database: maxminddb.Reader, catalog: Catalog) -> None:
        self._database = database
        self._places = {place.id for place in catalog.places}
        self._countries = {
            country: place.id for country, place in places_by_country(catalog).items()
        }
        self.elsewhere: Counter[str] = Counter()
        """Requests from countries that the catalog does not have."""

    def place(self, address: bytes, count: int) -> str:
        """Return the id of a place, or one of ``NOWHERE``, for that many requests."""
        try:
            parsed = ip_address(address.decode("ascii"))
        except ValueError:
            return "unreadable"
        if not parsed.is_global:
            return "private"
        try:
            record = self._database.get(parsed)
        except ValueError:  # IPv6, and a database of IPv4 alone
            return "unknown"
        country = _code(record, "country") or _code(record, "registered_country")
        if country is None:
            return "unknown"
        if country == _MAINLAND:
            province = f"{_MAINLAND}-{_province(record)}"
            return province if province in self._places else "no province"
        if country not in self._countries:
            self.elsewhere[country] += count
            return "elsewhere"
        return self._countries[country]


def _province(record: object) -> str | None:
    match record:
        case {"subdivisions": [{"iso_code": str(code)}, *_]}:
            return code
    return None


def _code(record: object, field: str) -> str | None:
    part = record.get(field) if isinstance(record, Mapping) else None
    code = part.get("iso_code") if isinstance(part, Mapping) else None
    return code if isinstance(code, str) else None
