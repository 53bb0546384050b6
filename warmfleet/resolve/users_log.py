"""Users by place from access logs: addresses looked up, counted, and forgotten."""

from collections import Counter
from collections.abc import Iterator, Set
from pathlib import Path

import maxminddb

from warmfleet.catalog.models import Catalog
from warmfleet.errors import SpecError
from warmfleet.resolve.geoip import NOWHERE, Finder
from warmfleet.resolve.log_reader import addresses, log_files
from warmfleet.resolve.progress import Progress
from warmfleet.resolve.user_facts import CountedUsers
from warmfleet.resolve.users_table import shares_of
from warmfleet.spec.users import LoggedUsersSpec

__all__ = ["logged_users"]

_TOLD = {
    "unreadable": "are not of the combined format, or their client is no address",
    "private": "come from addresses that are not of the internet (a proxy's own, a monitor's)",
    "unknown": "come from addresses that the database does not know",
    "elsewhere": "come from countries that the catalog does not know",
    "no province": "come from mainland China without a province: spread as the others there",
}
_NAMED = 5
"""Countries that are named; the rest is counted with them."""


def logged_users(
    source: LoggedUsersSpec, catalog: Catalog, root: Path, progress: Progress
) -> CountedUsers:
    """Count the requests of each place.

    Raises:
        SpecError: log or database unreadable, no line of the format, nobody located, or a database
            without provinces.
    """
    at = f"users.access_log: {source.access_log}"
    found: Counter[str] = Counter()
    files = log_files(root, source.access_log)
    if not files:
        msg = f"{at}: found no file; needed a log of nginx, or a pattern that matches some"
        raise SpecError(msg)
    try:
        with _database(root, source) as database:
            finder = Finder(database, catalog)
            for counts, odd in addresses(files, progress):
                found["unreadable"] += odd
                for address, count in counts.items():
                    found[finder.place(address, count)] += count
    except maxminddb.InvalidDatabaseError as error:
        msg = f"users.geoip: {source.geoip}: {error}; needed a database that is whole"
        raise SpecError(msg) from error
    except OSError as error:
        msg = f"{at}: {error.strerror or error}; needed a readable log of nginx"
        raise SpecError(msg) from error
    provinces = {place.id for place in catalog.places if place.mainland}
    return _counted(at, source, found, finder.elsewhere, provinces)


def _database(root: Path, source: LoggedUsersSpec) -> maxminddb.Reader:
    try:
        return maxminddb.open_database(root / source.geoip)
    except (OSError, maxminddb.InvalidDatabaseError) as error:
        why = error.strerror if isinstance(error, OSError) else "found another kind of file"
        msg = f"users.geoip: {source.geoip}: {why}; needed a MaxMind database (.mmdb)"
        raise SpecError(msg) from error


def _counted(
    at: str,
    source: LoggedUsersSpec,
    found: Counter[str],
    elsewhere: Counter[str],
    provinces: Set[str],
) -> CountedUsers:
    requests = found.total()
    if requests == found["unreadable"]:
        msg = (
            f"{at}: found no line of the combined format in {requests}; needed ADDRESS - USER "
            '[TIME] "REQUEST" STATUS BYTES "REFERER" "AGENT"'
        )
        raise SpecError(msg)
    places = Counter({name: count for name, count in found.items() if name not in NOWHERE})
    if found["no province"] and not any(name.startswith("CN-") for name in places):
        msg = (
            f"users.geoip: {source.geoip}: found no province of any address in mainland China; "
            "needed a database with subdivisions, such as GeoLite2 City"
        )
        raise SpecError(msg)
    if not places:
        msg = f"{at}: found no address whose place is known in {requests} requests; needed users"
        raise SpecError(msg)
    counted = {"requests": requests, "located": places.total()}
    counted |= {name: found[name] for name in NOWHERE if found[name]}
    return CountedUsers(
        source=source,
        shares=shares_of(_spread(places, found["no province"], provinces)),
        counted=counted,
        told=tuple(_tell(counted, elsewhere)),
    )


def _spread(places: Counter[str], more: int, provinces: Set[str]) -> dict[str, float]:
    """Return the counts with what has no province spread over the provinces that are there."""
    mainland = sum(count for name, count in places.items() if name in provinces)
    factor = 1 + more / mainland if mainland else 1
    return {name: count * factor if name in provinces else count for name, count in places.items()}


def _tell(counted: dict[str, int], elsewhere: Counter[str]) -> Iterator[str]:
    requests = counted["requests"]
    yield f"{counted['located']} of {requests} requests are of places that are known"
    for name in NOWHERE:
        if count := counted.get(name):
            said = f"{count} ({count / requests:.2%}) {_TOLD[name]}"
            if name == "elsewhere":
                most = [f"{code} {number}" for code, number in elsewhere.most_common(_NAMED)]
                said += f" ({', '.join(most)}) and are in no share"
            yield said
