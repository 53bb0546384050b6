"""CSV files that people write: read whole, every row with the line where it stands."""

import csv
import hashlib
import io
from pathlib import Path

from msgspec import Struct

from warmfleet.errors import SpecError

__all__ = ["CsvTable", "read_csv"]

_MOST_ROWS = 100_000
_MOST_BYTES = 16 * 2**20


class CsvTable(Struct, frozen=True):
    """What a file has."""

    columns: list[str]
    """In lower case."""
    rows: list[tuple[int, dict[str, str]]]
    """The line of each, and its values by column; "" where it ends before."""
    sha256: str


def read_csv(at: str, path: Path, *, needed: str) -> CsvTable:
    """Read a file.

    Args:
        at: What messages begin with.
        path: Of the file.
        needed: What rows there are to be; said where there are far more.

    Raises:
        SpecError: unreadable, not CSV in UTF-8, too large, or a row with more values than columns.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_MOST_BYTES + 1)
    except OSError as error:
        msg = f"{at}: {error.strerror}; needed a readable CSV file"
        raise SpecError(msg) from error
    if len(raw) > _MOST_BYTES:
        msg = f"{at}: more than {_MOST_BYTES // 2**20} MiB; needed {needed}"
        raise SpecError(msg)
    try:
        text = io.StringIO(raw.decode("utf-8-sig"), newline="")
        reader = csv.reader(text, skipinitialspace=True)
        columns = [name.strip().lower() for name in next(reader, [])]
        rows = [
            (reader.line_num, _values(f"{at} line {reader.line_num}", columns, row))
            for row in reader
            if row
        ]
    except (UnicodeDecodeError, csv.Error) as error:
        msg = f"{at}: {error}; needed CSV in UTF-8"
        raise SpecError(msg) from error
    if len(rows) > _MOST_ROWS:
        msg = f"{at}: more than {_MOST_ROWS} rows; needed {needed}"
        raise SpecError(msg)
    return CsvTable(columns, rows, hashlib.sha256(raw).hexdigest())


def _values(at: str, columns: list[str], row: list[str]) -> dict[str, str]:
    count = len(columns)
    if any(extra.strip() for extra in row[count:]):  # a comma for a point, for example
        msg = f"{at}: found {len(row)} values; needed {count}, one of each column"
        raise SpecError(msg)
    filled = row[:count] + [""] * (count - len(row))
    return {name: value.strip() for name, value in zip(columns, filled, strict=True)}
