"""Users by place from a CSV file."""

import csv
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from warmfleet.catalog.models import Catalog
from warmfleet.errors import SpecError
from warmfleet.resolve.places import find_place
from warmfleet.resolve.user_facts import CountedUsers, UserShare
from warmfleet.spec.units import Percentage
from warmfleet.spec.users import TabledUsersSpec

__all__ = ["shares_of", "tabled_users"]

_NUMBERS = ("share", "users", "requests")
_MOST_ROWS = 100_000
"""There are some hundred places; a file with more rows is another file."""

_DECIMALS = 9


def tabled_users(source: TabledUsersSpec, catalog: Catalog, root: Path) -> CountedUsers:
    """Add up the rows of each place.

    Raises:
        SpecError: unreadable, without the columns, an unknown place, or shares that do not add up.
    """
    at = f"users.csv: {source.csv}"
    try:
        with (root / source.csv).open(encoding="utf-8-sig", newline="") as file:
            column, rows = _rows(at, csv.DictReader(file, skipinitialspace=True))
            counts: dict[str, float] = {}
            number = 0
            for line, where, count in rows:
                place = find_place(f"{at} line {line}: where", where, catalog).id
                counts[place] = counts.get(place, 0) + count
                number += 1
    except OSError as error:
        msg = f"{at}: {error.strerror}; needed a readable CSV file"
        raise SpecError(msg) from error
    except (UnicodeDecodeError, csv.Error) as error:
        msg = f"{at}: {error}; needed CSV in UTF-8"
        raise SpecError(msg) from error
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
        counted={"rows": number},
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


def _rows(at: str, reader: "csv.DictReader[str]") -> tuple[str, Iterator[tuple[int, str, float]]]:
    found = [name.strip().lower() for name in reader.fieldnames or ()]
    reader.fieldnames = found
    columns = [name for name in _NUMBERS if name in found]
    if "where" not in found or len(columns) != 1:
        msg = (
            f"{at}: found the columns {', '.join(found) or 'none'}; needed where, and one of "
            f"{', '.join(_NUMBERS)}"
        )
        raise SpecError(msg)
    return columns[0], _counts(at, reader, columns[0])


def _counts(
    at: str, reader: "csv.DictReader[str]", column: str
) -> Iterator[tuple[int, str, float]]:
    for number, row in enumerate(reader):
        if number >= _MOST_ROWS:
            msg = f"{at}: more than {_MOST_ROWS} rows; needed one for each place"
            raise SpecError(msg)
        text = (row[column] or "").strip()
        try:
            percent = column == "share"
            count = float(Percentage.parse(text).percent) if percent else float(text)
        except ValueError:
            count = -1.0
        if not (math.isfinite(count) and count >= 0):
            needed = Percentage.what if column == "share" else "a number, zero or more"
            msg = f"{at} line {reader.line_num}: {column}: found {text!r}; needed {needed}"
            raise SpecError(msg)
        yield reader.line_num, (row["where"] or "").strip(), count
