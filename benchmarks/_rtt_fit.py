"""Make the catalog's round-trip times from measured ones.

    python benchmarks/_rtt_fit.py CALIBRATION.csv [BY_CARRIER.csv] > rtt.json

The same files give the same bytes.
"""

import json
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from _rtt_folds import FOLDS, Held, Row, by_city, by_pair, by_source
from _rtt_rows import CARRIERS, MeasuredPath, path_of, read

from warmfleet.catalog.rtt import RttNet
from warmfleet.network.fit import Shape, fit
from warmfleet.network.routes import Point

SHAPES = {
    "backbone": Shape(
        both_ways=True,
        route="cable",
        terms=((25.0, 3000.0, 3000.0), (4.0, 60.0, None), (4.0, None, 60.0)),
        between_lines=1.0,
        noise_ms=5.0,
    ),
    "public": Shape(
        both_ways=True,
        route="cable",
        terms=(
            (40.0, 3000.0, 3000.0),
            (10.0, 800.0, None),
            (10.0, None, 800.0),
            (20.0, 60.0, None),
            (20.0, None, 60.0),
        ),
        between_lines=1.0,
        noise_ms=15.0,
    ),
    "mainland": Shape(
        both_ways=True,
        route="core",
        terms=(
            (2.0, 1000.0, 1000.0),
            (1.0, 600.0, None),
            (1.0, None, 600.0),
            (15.0, None, None),
        ),
        between_lines=0.8,
        noise_ms=3.0,
    ),
    "border": Shape(
        both_ways=False,
        route="gateway",
        terms=(
            (40.0, None, 1500.0),
            (120.0, None, 200.0),  # Hong Kong is like no place around it
            (20.0, 800.0, None),
            (10.0, 30.0, None),
            (20.0, 800.0, 3000.0),
            (40.0, None, None),
        ),
        between_lines=0.6,
        noise_ms=12.0,
    ),
}
"""Scales found by holding out pairs and cities; the result hardly depends on them."""

SOURCES = {
    "backbone": "measured between regions of clouds: Azure, IBM, AWS (2017 to 2026)",
    "public": "measured between servers of WonderNetwork, November 2018",
    "mainland": "measured from servers in eight cities of the mainland (2018 to 2025)",
    "border": "measured over the border of the mainland (2014 to 2025, most of it 2018)",
}
LINES = {
    "backbone": ("any",),
    "public": ("any",),
    "mainland": (
        "bgp",
        "same-carrier",
        "cross-carrier",
        "same-carrier, oversold",
        "cross-carrier, oversold",
    ),
    "border": ("bgp", "ordinary", "premium", "hosted"),
}
LEAST = {"border": (9.8, 11.6)}
"""No way over the border beats nine tenths of the line through the backbones of clouds."""

_RANK = 0.92
"""84 of 100 errors lie between, so that 80 do of what is new: scales were found on these rows."""

_ENOUGH = 10
"""Fewer errors than this say nothing of their quantiles."""


def main() -> int:
    """Print the tables."""
    rows = [path_of(row, {}) for row in read([Path(sys.argv[1])])]
    split = list(read(map(Path, sys.argv[2:])))
    nets = [net(name, [row for row in rows if row.net == name], split) for name in SHAPES]
    print('{"hubs": [')
    print(",\n".join(json.dumps(hub, ensure_ascii=False) for hub in _hubs()))
    print('], "nets": [')
    print(",\n".join(json.dumps(made, ensure_ascii=False, separators=(",", ":")) for made in nets))
    print("]}")
    return 0


def net(
    name: str, measured: Sequence[MeasuredPath], split: Sequence[dict[str, str]]
) -> dict[str, Any]:
    """Return the table of one kind of path."""
    shape, lines = SHAPES[name], LINES[name]
    cities = cities_of(measured)
    index = {city[0]: number for number, city in enumerate(cities)}
    rows = [
        Row(index[row.start], index[row.end], lines.index(row.line), row.ms, row.source)
        for row in measured
    ]
    sources = sorted({row.source for row in rows})
    found = fit(cities, [row[:4] for row in rows], shape)
    made: dict[str, Any] = {
        "id": name,
        "both_ways": shape.both_ways,
        "route": shape.route,
        "mean": [round(part, 4) for part in found.mean],
        "terms": shape.terms,
        "least": LEAST.get(name),
        "between_lines": shape.between_lines,
        "noise_ms": shape.noise_ms,
        "lines": lines,
        "cities": cities,
        "sources": sources,
        "rows": [
            (*row[:4], round(weight, 6), sources.index(row.source), path.samples)
            for row, weight, path in zip(rows, found.weights, measured, strict=True)
        ],
        "bands": [[(0, 0, 0)] * 3] * len(lines),
        "held_out": [],
        "carriers": _carriers(split, index) if name == "border" else [],
        "source": SOURCES[name],
    }
    draft = RttNet.model_validate_json(json.dumps(made))
    pairs, places = by_pair(draft, shape, rows), by_city(draft, shape, rows)
    sources_out = by_source(draft, shape, rows)
    new = [*places, *sources_out]
    made["bands"] = bands_of(len(lines), pairs, new)
    made["held_out"] = [
        *_held_out("pair", lines, pairs, pairs, new),
        *_held_out("city", lines, places, pairs, new),
        *_held_out("source", lines, sources_out, pairs, new),
    ]
    return made


def cities_of(rows: Sequence[MeasuredPath]) -> list[tuple[str, float, float]]:
    """Return all cities by name; the first row of a city says where it is."""
    found: dict[str, Point] = {}
    for row in rows:
        found.setdefault(row.start, row.start_at)
        found.setdefault(row.end, row.end_at)
    return [(name, *found[name]) for name in sorted(found)]


def bands_of(
    lines: int, pairs: Sequence[Held], new: Sequence[Held]
) -> list[list[tuple[float, float, int]]]:
    """Return the bands of each line, by how many ends of a path were never measured.

    ``new`` are rows of which a city or the source was held out: who measures at a new place is
    another one as well, at another time.
    """
    bands = []
    for line in range(lines):
        own: list[tuple[float, float, int]] = []
        for errors in (
            [item for item in pairs if item.new_places == 0],
            [item for item in new if item.new_places <= 1],
            [item for item in new if item.new_places != 1],
        ):
            if not errors:
                own.append(own[-1])
                continue
            of_line = [item.part for item in errors if item.row.line == line]
            band = _band(of_line if len(of_line) >= _ENOUGH else [item.part for item in errors])
            if own:  # to know less is no reason to promise more
                band = max(band[0], own[-1][0]), max(band[1], own[-1][1]), band[2]
            own.append(band)
        bands.append(own)
    return bands


def _band(parts: Sequence[float]) -> tuple[float, float, int]:
    """Return the quantiles of errors as conformal prediction takes them: of n and the next one."""
    ordered, count = sorted(parts), len(parts)
    rank = min(math.ceil(_RANK * (count + 1)), count)
    return round(max(-ordered[count - rank], 0.0), 4), round(max(ordered[rank - 1], 0.0), 4), count


def _held_out(
    what: str,
    lines: Sequence[str],
    held: Sequence[Held],
    pairs: Sequence[Held],
    new: Sequence[Held],
) -> list[tuple[str, str, int, float, float, float]]:
    """Return the errors of what was held out, and how many of them its band holds.

    The bands of each fold are made of the other folds: their own errors would flatter them.
    """
    within = []
    for fold in range(FOLDS):
        bands = bands_of(
            len(lines),
            [item for item in pairs if item.fold != fold],
            [item for item in new if item.fold != fold],
        )
        for item in held:
            if item.fold == fold:
                below, above, _ = bands[item.row.line][item.new_places]
                within.append((item, -below <= item.part <= above))
    found = []
    for line, name in enumerate([*lines, *(["all"] if len(lines) > 1 else [])]):
        own = [(item, held) for item, held in within if name == "all" or item.row.line == line]
        if len(own) < _ENOUGH:
            continue
        sizes = [abs(item.error) for item, _ in own]
        found.append(
            (
                what,
                name,
                len(own),
                round(statistics.median(sizes), 1),
                round(statistics.quantiles(sizes, n=10, method="inclusive")[-1], 1),
                round(100 * sum(held for _, held in own) / len(own), 1),
            )
        )
    return found


def _carriers(
    split: Sequence[dict[str, str]], index: dict[str, int]
) -> list[tuple[str, int | None, float, int]]:
    """Return what a carrier adds to the mean of all three, on the way to each destination."""
    times: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for row in split:
        if row.get("split", "calibration") == "calibration" and row.get("carrier") in CARRIERS:
            pair = row["from_city"], row["to_city"]
            times[pair][CARRIERS[row["carrier"]]] = float(row["rtt_ms"])
    beside: dict[tuple[str, str | None], list[float]] = defaultdict(list)
    for (_, end), found in times.items():
        if len(found) == len(CARRIERS):
            middle = statistics.mean(found.values())
            for carrier, ms in found.items():
                beside[carrier, end].append(ms - middle)
                beside[carrier, None].append(ms - middle)
    table: list[tuple[str, int | None, float, int]] = []
    for (carrier, end), values in sorted(
        beside.items(), key=lambda item: (item[0][0], item[0][1] or "")
    ):
        overall, count = statistics.median(beside[carrier, None]), len(values)
        # Few pairs tell less than all together: as if five more said what all say.
        shrunk = (count * statistics.median(values) + 5 * overall) / (count + 5)
        place = None if end is None else index.get(end)
        if end is None or place is not None:
            table.append((carrier, place, round(shrunk if end else overall, 2), count))
    return table


def _hubs() -> list[dict[str, Any]]:
    """Return the hubs as they are now: people write them, not this script."""
    file = Path(__file__).resolve().parents[1] / "warmfleet/catalog/data/rtt.json"
    hubs: list[dict[str, Any]] = json.loads(file.read_text())["hubs"]
    return hubs


if __name__ == "__main__":
    sys.exit(main())
