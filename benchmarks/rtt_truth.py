"""How far are the estimates of round-trip times from measured ones?

    python benchmarks/rtt_truth.py [--json] [--quick] [--rows] [CSV ...]

Takes any files with columns from_city, to_city, from_lat, from_lon, to_lat, to_lon, rtt_ms, kind,
and scope, carrier, year, note, source where there are. Errors are beside those of a straight line
over distance. Rows that the catalog carries are no test: they are counted apart, and so are those
that cannot be used, with the reason. Without files, it shows what the estimates were off when
pairs, cities and sources of the carried rows were held out of the fit.
"""

import csv
import json
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _figures import Figure, figure, truth_arguments
from _rtt_rows import CannotUseError, MeasuredPath, path_of, read

from warmfleet.catalog.models import RttKind
from warmfleet.catalog.rtt import RttNet, rtt_net
from warmfleet.errors import WarmfleetError
from warmfleet.network.estimate import estimate_path
from warmfleet.network.model import path_model
from warmfleet.network.routes import Point

NETS: dict[str, RttKind] = {
    "backbone": "cloud-backbone",
    "public": "public-internet",
    "mainland": "mainland",
    "border": "cross-border",
}
LINES = {
    "cloud backbone": (9.3, 15.39),
    "public internet": (22.0, 17.07),
    "mainland BGP": (5.8, 20.02),
    "mainland, other hosts": (5.8, 20.02),
    "same carrier": (36.0, 11.56),
    "same carrier, oversold": (36.0, 11.56),
    "cross carrier": (45.5, 11.93),
    "cross carrier, oversold": (45.5, 11.93),
    "cross border": (159.1, 10.30),
}
"""Base and ms a 1000 km by least absolute deviation on the rows that the catalog was made from."""
FIGURES = {
    "cloud backbone": ("backbone", 12.0),
    "mainland BGP": ("mainland_bgp", 3.5),
    "cross border": ("cross_border", 30.0),
}
HELD_OUT = {
    "cloud backbone": ("backbone", "any"),
    "public internet": ("public", "any"),
    "mainland BGP": ("mainland", "bgp"),
    "cross border": ("border", "all"),
}
COVERAGE_PCT = 80.0


@dataclass(frozen=True)
class Judged:
    """One row and what was said of it."""

    path: MeasuredPath
    group: str
    ms: float
    low_ms: float
    high_ms: float
    line_ms: float
    unknown_places: int
    carried: bool

    @property
    def error(self) -> float:
        """Return how far the estimate is off."""
        return abs(self.ms - self.path.ms)

    @property
    def line_error(self) -> float:
        """Return how far the straight line is off."""
        return abs(self.line_ms - self.path.ms)

    @property
    def held(self) -> bool:
        """Return whether the truth is within the band."""
        return self.low_ms <= self.path.ms <= self.high_ms


def main() -> int:
    """Print figures, groups, and what was not estimated."""
    arguments = truth_arguments("rtt_truth.py", __doc__.splitlines()[0], takes="seconds")
    try:
        judged, refused = evaluate(arguments.files)
    except (OSError, ValueError, csv.Error, WarmfleetError) as error:
        print(f"error: rtt_truth: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    fresh = [row for row in judged if not row.carried]
    figures = held_out_figures() if 2 * len(fresh) <= len(judged) else figures_of(fresh)
    groups = groups_of(fresh)
    held_out = held_out_groups()
    notes = _notes(judged, fresh, refused)
    if arguments.json:
        document: dict[str, Any] = {
            "name": "rtt_truth",
            "quick": arguments.quick,
            "figures": figures,
            "groups": groups,
            "held_out": held_out,
            "estimated": len(judged),
            "carried": len(judged) - len(fresh),
            "not_estimated": [{"reason": reason, "n": n} for reason, n in refused.most_common()],
            "notes": notes,
        }
        document |= {item["name"]: item["value"] for item in figures}
        print(json.dumps(document, indent=2))
    else:
        _show(figures, groups, held_out, notes)
        if arguments.rows:
            _show_rows(fresh)
    return 0


def evaluate(files: Iterable[Path]) -> tuple[list[Judged], Counter[str]]:
    """Return the rows of all files with their estimates, and why others have none.

    Raises:
        ValueError: a file lacks a column that every row needs.
    """
    known = {name: Point(*at) for net in NETS for name, *at in rtt_net(net).cities}
    judged: list[Judged] = []
    refused: Counter[str] = Counter()
    carried = _carried()
    for row in read(files):
        try:
            path = path_of(row, known)
        except CannotUseError as error:
            refused[str(error)] += 1
            continue
        judged.append(_judge(path, carried))
    return judged, refused


def figures_of(rows: Sequence[Judged]) -> list[Figure]:
    """Return the named figures of rows that the catalog does not carry."""
    figures = []
    for group, (name, goal) in FIGURES.items():
        own = [row for row in rows if row.group == group]
        if not own:
            continue
        errors, beside = [row.error for row in own], [row.line_error for row in own]
        for suffix, reduce, promised in (
            ("median_ms", statistics.median, goal),
            ("p90_ms", _ninetieth, None),
        ):
            figures.append(
                figure(
                    f"{name}_{suffix}",
                    errors,
                    "ms",
                    "lower",
                    value=reduce(errors),
                    goal=promised,
                    peer={"name": "straight line", "value": reduce(beside)},
                )
            )
    for name, own in (
        ("band_coverage_pct", list(rows)),
        ("band_coverage_unknown_places_pct", [row for row in rows if row.unknown_places]),
    ):
        if own:
            share = 100 * sum(row.held for row in own) / len(own)
            figures.append(figure(name, [share], "%", "higher", goal=COVERAGE_PCT, n=len(own)))
    return figures


def held_out_figures() -> list[Figure]:
    """Return the named figures of carried rows, each estimated without its pair."""
    figures = []
    for group, (name, goal) in FIGURES.items():
        found = _held_out(*HELD_OUT[group], "pair")
        for suffix, value, promised in (("median_ms", found[3], goal), ("p90_ms", found[4], None)):
            figures.append(
                figure(f"{name}_{suffix}", [value], "ms", "lower", goal=promised, n=found[2])
            )
    for name, what in (
        ("band_coverage_pct", "pair"),
        ("band_coverage_unknown_places_pct", "city"),
    ):
        rows = [_held_out(net, line, what) for net, line in HELD_OUT.values()]
        count = sum(row[2] for row in rows)
        share = sum(row[2] * row[5] for row in rows) / count
        figures.append(figure(name, [share], "%", "higher", goal=COVERAGE_PCT, n=count))
    return figures


def groups_of(rows: Sequence[Judged]) -> list[dict[str, Any]]:
    """Return the errors of each group beside those of the line."""
    groups = []
    for group in LINES:
        for name, own in (
            (group, [row for row in rows if row.group == group]),
            (f"{group}, unknown place", [r for r in rows if r.group == group and r.unknown_places]),
        ):
            if not own:
                continue
            groups.append(
                {
                    "group": name,
                    "n": len(own),
                    "median_ms": round(statistics.median(row.error for row in own), 1),
                    "p90_ms": round(_ninetieth([row.error for row in own]), 1),
                    "line_median_ms": round(statistics.median(row.line_error for row in own), 1),
                    "line_p90_ms": round(_ninetieth([row.line_error for row in own]), 1),
                    "coverage_pct": round(100 * sum(row.held for row in own) / len(own), 1),
                }
            )
    return groups


def held_out_groups() -> list[dict[str, Any]]:
    """Return what carried rows are off when they are held out of the fit."""
    return [
        {
            "group": NETS[net],
            "held_out": what,
            "line": line,
            "n": n,
            "median_ms": middle,
            "p90_ms": ninetieth,
            "coverage_pct": within,
        }
        for net in NETS
        for what, line, n, middle, ninetieth, within in rtt_net(net).held_out
    ]


def _judge(path: MeasuredPath, carried: Counter[tuple[Any, ...]]) -> Judged:
    group = _group(path)
    found = estimate_path(
        path.start_at, path.end_at, NETS[path.net], carrier=path.carrier, line=path.line
    )
    base, slope = LINES[group]
    model = path_model(path.net)
    return Judged(
        path=path,
        group=group,
        ms=found.ms,
        low_ms=found.low_ms,
        high_ms=found.high_ms,
        line_ms=base + slope * path.km / 1000,
        unknown_places=model.unknown(path.start_at, path.end_at),
        carried=carried[_key(path.net, path.start, path.end, path.line, path.ms)] > 0,
    )


def _group(path: MeasuredPath) -> str:
    if path.kind == "cloud-backbone":
        return "cloud backbone"
    if path.net == "mainland":
        if path.line != "bgp":
            return path.line.replace("-", " ")
        return "mainland BGP" if path.bgp_host else "mainland, other hosts"
    return "cross border" if path.net == "border" else "public internet"


def _carried() -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for name in NETS:
        net: RttNet = rtt_net(name)
        for start, end, line, ms, *_ in net.rows:
            found[_key(name, net.cities[start][0], net.cities[end][0], net.lines[line], ms)] += 1
    return found


def _key(net: str, start: str, end: str, line: str, ms: float) -> tuple[Any, ...]:
    return (net, *sorted((start, end)), line, ms)


def _held_out(net: str, line: str, what: str) -> tuple[str, str, int, float, float, float]:
    return next(row for row in rtt_net(net).held_out if row[:2] == (what, line))


def _ninetieth(values: Sequence[float]) -> float:
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=10, method="inclusive")[-1]


def _notes(judged: Sequence[Judged], fresh: Sequence[Judged], refused: Counter[str]) -> list[str]:
    notes = []
    carried = len(judged) - len(fresh)
    if carried >= len(fresh):
        notes.append("figures are of carried rows, each estimated without its pair or its city")
    if carried:
        notes.append(
            f"{carried} of {len(judged)} rows are carried by the catalog, in sample: their own "
            "times would be found again, so they are in no group"
        )
    notes.append(f"{refused.total()} rows were not estimated: {_shortly(refused)}")
    return notes


def _shortly(refused: Counter[str]) -> str:
    return "; ".join(f"{count} {reason}" for reason, count in refused.most_common()) or "none"


def _show(
    figures: Sequence[Figure],
    groups: Sequence[dict[str, Any]],
    held_out: Sequence[dict[str, Any]],
    notes: Sequence[str],
) -> None:
    print(f"{'':<36}{'n':>6}{'estimate':>10}{'line':>8}{'goal':>8}")
    for item in figures:
        beside = f"{item['peer']['value']:.1f}" if "peer" in item else ""
        goal = f"{item['goal']:g}" if "goal" in item else ""
        print(f"{item['name']:<36}{item['n']:>6}{item['value']:>10.1f}{beside:>8}{goal:>8}")
    if groups:
        print("\nmedian / 90th percentile of the error in ms, and % of truths within the band")
        print(f"{'':<36}{'n':>6}{'estimate':>16}{'line':>18}{'within':>8}")
        for row in groups:
            print(
                f"{row['group']:<36}{row['n']:>6}"
                f"{row['median_ms']:>8.1f} /{row['p90_ms']:>6.1f}"
                f"{row['line_median_ms']:>10.1f} /{row['line_p90_ms']:>6.1f}"
                f"{row['coverage_pct']:>8.1f}"
            )
    print("\ncarried rows held out of the fit: median / 90th percentile in ms, % within the band")
    for row in held_out:
        print(
            f"{row['group']:<18}{row['line']:<16}{row['held_out']:<14}{row['n']:>6}"
            f"{row['median_ms']:>8.1f} /{row['p90_ms']:>6.1f}{row['coverage_pct']:>8.1f}"
        )
    print()
    for text in notes:
        print(text)


def _show_rows(rows: Sequence[Judged]) -> None:
    print("\nerror in ms, measured, estimated, band")
    for row in sorted(rows, key=lambda row: -row.error):
        print(
            f"{row.error:>8.1f}{row.path.ms:>9.1f}{row.ms:>9.1f}{row.low_ms:>9.1f} to "
            f"{row.high_ms:<9.1f}{row.group:<22}{row.path.line:<14}{row.path.start} - "
            f"{row.path.end}, {row.path.year}"
        )


if __name__ == "__main__":
    sys.exit(main())
