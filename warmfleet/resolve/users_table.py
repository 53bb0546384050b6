"""Users by place from a CSV file."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from warmfleet.catalog.models import Catalog
from warmfleet.errors import SpecError
from warmfleet.resolve.csv_table import read_csv
from warmfleet.resolve.places import find_place
from warmfleet.resolve.user_facts import CountedUsers, UserShare
from warmfleet.spec.units import Percentage
from warmfleet.spec.users import TabledUsersSpec

__all__ = ["shares_of", "tabled_users"]

_NUMBERS = ("share", "users", "requests")
_DECIMALS = 9


def tabled_users(source: TabledUsersSpec, catalog: Catalog, root: Path) -> CountedUsers:
    """Add up the rows of each place.

    Raises:
        SpecError: unreadable, without the columns, an unknown place, or shares that do not add up.
    """
    at = f"users.csv: {source.csv}"
    table = read_csv(at, root / source.csv, needed="one for each place")
    column = _column(at, table.columns)
    counts: dict[str, float] = {}
    for line, row in table.rows:
        place = find_place(f"{at} line {line}: where", row["where"], catalog).id
        counts[place] = counts.get(place, 0) + _count(f"{at} line {line}", column, row[column])
    total = sum(counts.values())
    if not total:
        msg = f"{at}: found no {column}; needed at least one row with more than zero"
        raise SpecError(msg)
    if column == "share" and not math.isclose(total, 100, abs_tol=0.01):
        msg = f"{at}: shares add up to {total:g}%; needed 100%, or a column of users or requests"
        raise SpecError(msg)
    return CountedUsers(
        source=source,
        shares=shares_of(counts),
        counted={"rows": len(table.rows)},
        told=(f"by the column {column}",),
    )


def shares_of(counts: Mapping[str, float]) -> tuple[UserShare, ...]:
    """Return each place's share of all, the largest first."""
    total = sum(counts.values())
    ranked = sorted(((where, n) for where, n in counts.items() if n), key=lambda r: (-r[1], r[0]))
    least = 10**-_DECIMALS
    return tuple(
        UserShare(where=where, share=max(least, round(count / total, _DECIMALS)))
        for where, count in ranked
    )


def _column(at: str, found: Sequence[str]) -> str:
    columns = [name for name in _NUMBERS if name in found]
    if "where" not in found or len(columns) != 1:
        msg = (
            f"{at}: found the columns {', '.join(found) or 'none'}; needed where, and one of "
            f"{', '.join(_NUMBERS)}"
        )
        raise SpecError(msg)
    return columns[0]


def _count(at: str, column: str, text: str) -> float:
    percent = column == "share"
    try:
        count = float(Percentage.parse(text).percent) if percent else float(text)
    except ValueError:
        count = -1.0
    if not (math.isfinite(count) and count >= 0):
        needed = Percentage.what if percent else "a number, zero or more"
        msg = f"{at}: {column}: found {text!r}; needed {needed}"
        raise SpecError(msg)
    return count
