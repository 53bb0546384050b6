"""Rows of measured round-trip times as files have them, and which path of the product each is."""

import csv
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from warmfleet.network.distance import distance_km
from warmfleet.network.routes import Point

_TABLE = 10
"""As many samples as a table has, or more."""

COLUMNS = ("from_city", "to_city", "rtt_ms", "kind")

CARRIERS = {
    "China Mobile": "china-mobile",
    "China Telecom": "china-telecom",
    "China Unicom": "china-unicom",
}

# Where one is on which side of the border; what lies between is told by the nearest of them.
_MAINLAND = (
    (39.9, 116.4), (31.2, 121.5), (23.1, 113.3), (22.55, 114.07), (30.7, 104.1), (34.3, 108.9),
    (30.6, 114.3), (45.75, 126.65), (43.9, 125.3), (41.8, 123.4), (43.8, 87.6), (29.65, 91.1),
    (25.0, 102.7), (22.8, 108.3), (20.0, 110.3), (26.1, 119.3), (24.5, 118.1), (36.1, 120.4),
    (38.9, 121.6), (40.8, 111.7), (36.6, 101.8), (36.1, 103.8), (39.5, 76.0),
)  # fmt: skip
_ELSEWHERE = (
    (22.3, 114.17), (22.19, 113.54), (25.0, 121.5), (22.6, 120.3), (37.6, 127.0), (35.2, 129.1),
    (39.0, 125.8), (35.7, 139.7), (33.6, 130.4), (43.1, 141.3), (43.1, 131.9), (52.3, 104.3),
    (47.9, 106.9), (43.2, 76.9), (41.3, 69.2), (38.6, 68.8), (34.5, 69.2), (31.5, 74.3),
    (28.6, 77.2), (27.7, 85.3), (23.7, 90.4), (21.0, 105.8), (18.0, 102.6), (21.9, 96.1),
    (13.8, 100.5), (14.6, 121.0), (1.35, 103.8),
)  # fmt: skip


class CannotUseError(ValueError):
    """A row that lacks what an estimate needs."""


@dataclass(frozen=True)
class MeasuredPath:
    """One measured path."""

    start: str
    end: str
    start_at: Point
    end_at: Point
    ms: float
    kind: str
    """Of the file: cloud-backbone, public-internet, same-carrier, cross-carrier, cross-border."""
    net: str
    """Of the product: backbone, public, mainland, border."""
    line: str
    carrier: str | None
    source: str
    samples: int
    """1: a single probe; 10: of a table, which has as many or more."""
    year: str
    bgp_host: bool

    @property
    def pair(self) -> frozenset[str]:
        """Return the two cities, whatever the direction."""
        return frozenset((self.start, self.end))

    @property
    def km(self) -> float:
        """Return the great-circle distance."""
        return distance_km(*self.start_at, *self.end_at)


def read(files: Iterable[Path]) -> Iterator[dict[str, str]]:
    """Yield all rows of the files, with blanks for what is not there.

    Raises:
        ValueError: a file lacks a column that every row needs.
    """
    for file in files:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.DictReader(stream)
            lacking = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
            if lacking:
                msg = f"{file}: found no column {', '.join(lacking)}; needed {', '.join(COLUMNS)}"
                raise ValueError(msg)
            for row in reader:
                yield {name: (text or "").strip() for name, text in row.items() if name}


def path_of(row: dict[str, str], known: dict[str, Point]) -> MeasuredPath:
    """Return what a row measured; a city without coordinates is looked up by its name.

    Raises:
        CannotUseError: no time, or a place that nobody knows.
    """
    ms = _number(row, "rtt_ms")
    if ms is None or ms <= 0:
        msg = f"no time: rtt_ms is {row.get('rtt_ms')!r}"
        raise CannotUseError(msg)
    ends = [(row["from_city"], _at(row, "from", known)), (row["to_city"], _at(row, "to", known))]
    sides = [_in_mainland(point) for _, point in ends]
    scope = row.get("scope", "")
    if scope == "mainland":
        sides = [True, True]
    elif scope == "overseas":
        sides = [False, False]
    if sides[1] and not sides[0]:  # mainland first, whatever the direction
        ends, sides = ends[::-1], sides[::-1]
    kind = row["kind"]
    if all(sides):
        net = "mainland"
    elif any(sides):
        net = "border"
    else:
        net = "backbone" if kind == "cloud-backbone" else "public"
    (start, start_at), (end, end_at) = ends
    note = row.get("note", "")
    return MeasuredPath(
        start=start,
        end=end,
        start_at=start_at,
        end_at=end_at,
        ms=ms,
        kind=kind,
        net=net,
        line=_line(net, row, end),
        carrier=CARRIERS.get(row.get("carrier", "")),
        source=_source(row.get("source", "")),
        samples=_samples(row.get("percentile", ""), note),
        year=row.get("year", ""),
        bgp_host="BGP multi-line host" in note,
    )


def _line(net: str, row: dict[str, str], end: str) -> str:
    """Return the line as far as a row tells it; never from its time."""
    if net == "mainland":
        kind = row["kind"] if row["kind"] in {"same-carrier", "cross-carrier"} else "bgp"
        # A host with more customers than line, by its source's own word: nothing like its kind.
        return f"{kind}, oversold" if "oversold" in row.get("note", "") else kind
    if net != "border":
        return "any"
    carrier, note = row.get("carrier", ""), row.get("note", "")
    direct = "direct-peered" in note or (
        end == "Hong Kong" and "bandwagon" in row.get("source", "")
    )
    if carrier == "CN2" or "premium" in note or direct:
        return "premium"
    if carrier == "unspecified":
        return "hosted"
    recent = (_number(row, "year") or 0) >= 2022
    return "ordinary" if not recent or "tier-1" in note else "bgp"


def _samples(percentile: str, note: str) -> int:
    if counted := re.search(r"(\d+) samples", note):
        return min(int(counted[1]), _TABLE)
    return {"single probe": 1, "avg of 3": 3}.get(percentile, _TABLE)


def _source(text: str) -> str:
    """Return a source without the parts that differ from row to row."""
    if "topvps" in text:
        return "github.com/void285/topvps@97b01dd"
    return text


def _at(row: dict[str, str], side: str, known: dict[str, Point]) -> Point:
    latitude, longitude = _number(row, f"{side}_lat"), _number(row, f"{side}_lon")
    if latitude is not None and longitude is not None:
        if abs(latitude) <= 90 and abs(longitude) <= 180:
            return Point(latitude, longitude)
    elif row[f"{side}_city"] in known:
        return known[row[f"{side}_city"]]
    msg = f"no coordinates of {row[f'{side}_city']!r}"
    raise CannotUseError(msg)


def _in_mainland(point: Point) -> bool:
    return min(distance_km(*point, *at) for at in _MAINLAND) < min(
        distance_km(*point, *at) for at in _ELSEWHERE
    )


def _number(row: dict[str, str], column: str) -> float | None:
    try:
        value = float(row.get(column) or "nan")
    except ValueError:
        return None
    return value if math.isfinite(value) else None
