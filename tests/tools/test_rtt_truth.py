"""Estimates of round-trip times against measured ones."""

import csv
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tools.loading import TOOLS
from warmfleet.catalog.rtt import rtt_net

SCRIPT = TOOLS.parent / "benchmarks" / "rtt_truth.py"
KINDS = {"backbone": "cloud-backbone", "public": "public-internet", "border": "cross-border"}
GOALS = {"backbone_median_ms": 12, "mainland_bgp_median_ms": 3.5, "cross_border_median_ms": 30}


def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def document(*arguments: str | Path) -> dict[str, Any]:
    done = call("--json", *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def carried(beside_ms: float = 0.0) -> list[dict[str, str]]:
    """Return the rows that the catalog carries, in the columns of a file."""
    rows = []
    for name in ("backbone", "public", "mainland", "border"):
        net = rtt_net(name)
        for start, end, line, ms, _, source, _ in net.rows:
            one, other = net.cities[start], net.cities[end]
            said = net.lines[line].split(", ")
            kind = KINDS.get(name) or ("public-internet" if said[0] == "bgp" else said[0])
            note = "BGP multi-line host" if name == "mainland" else ""
            note = {"premium": "premium", "oversold": "oversold"}.get(said[-1], note)
            rows.append(
                {
                    "from_city": one[0], "from_lat": str(one[1]), "from_lon": str(one[2]),
                    "to_city": other[0], "to_lat": str(other[1]), "to_lon": str(other[2]),
                    "rtt_ms": str(ms + beside_ms), "kind": kind,
                    "scope": {"mainland": "mainland", "border": ""}.get(name, "overseas"),
                    "carrier": {"hosted": "unspecified"}.get(said[0], ""),
                    "year": "2024" if said[0] == "bgp" else "2018",
                    "note": note,
                    "source": net.sources[source],
                }
            )  # fmt: skip
    return rows


def written(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def swapped(row: dict[str, str]) -> dict[str, str]:
    turned = dict(row)
    for part in ("city", "lat", "lon"):
        turned[f"from_{part}"], turned[f"to_{part}"] = row[f"to_{part}"], row[f"from_{part}"]
    return turned


def test_goals_are_met_on_pairs_that_were_held_out() -> None:
    found = document()

    figures = {item["name"]: item for item in found["figures"]}
    for name, goal in GOALS.items():
        assert figures[name]["goal"] == goal
        assert figures[name]["value"] == found[name] <= goal
    for name in ("band_coverage_pct", "band_coverage_unknown_places_pct"):
        assert 80 <= figures[name]["value"] <= 90
    assert found["held_out"]


def test_carried_rows_are_in_no_figure(tmp_path: Path) -> None:
    rows = carried()
    found = document(written(tmp_path / "all.csv", rows))

    assert (found["estimated"], found["carried"]) == (len(rows), len(rows))
    assert "without its pair" in found["notes"][0]
    assert f"{len(rows)} of {len(rows)} rows are carried" in found["notes"][1]
    assert found["groups"] == []
    without_files = document()
    assert [found[name] for name in GOALS] == [without_files[name] for name in GOALS]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_part_of_a_file_is_estimated_whole(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - the same each time
    rows = chance.sample(carried(beside_ms=0.5), 120)
    odd = [swapped(row) if chance.random() < 0.5 else row for row in rows]
    for row in odd:
        for column in ("scope", "carrier", "year", "note", "source"):
            if chance.random() < 0.3:
                row[column] = ""
        row["from_city"] += " (a node)" * (chance.random() < 0.2)

    found = document(written(tmp_path / "part.csv", odd))

    assert (found["estimated"], found["carried"], found["not_estimated"]) == (120, 0, [])
    assert sum(group["n"] for group in found["groups"] if "unknown" not in group["group"]) == 120


def test_direction_changes_nothing(tmp_path: Path) -> None:
    rows = carried(beside_ms=0.5)[::7]
    one = document(written(tmp_path / "one.csv", rows))
    other = document(written(tmp_path / "other.csv", [swapped(row) for row in rows]))

    assert one["groups"] == other["groups"]


def test_rows_that_cannot_be_used_are_counted(tmp_path: Path) -> None:
    good = carried(beside_ms=0.5)[0]
    rows = [
        good,
        good | {"rtt_ms": ""},
        good | {"rtt_ms": "n/a"},
        good | {"from_lat": "", "from_city": "Atlantis"},
        good | {"to_lat": "", "to_lon": ""},  # known by its name
    ]

    found = document(written(tmp_path / "odd.csv", rows))

    assert found["estimated"] == 2
    assert sorted((item["n"], item["reason"]) for item in found["not_estimated"]) == [
        (1, "no coordinates of 'Atlantis'"),
        (1, "no time: rtt_ms is ''"),
        (1, "no time: rtt_ms is 'n/a'"),
    ]


def test_a_file_of_another_kind_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "other.csv"
    file.write_text("a,b\n1,2\n")

    done = call(file)

    assert done.returncode == 1
    assert done.stderr == (
        f"error: rtt_truth: {file}: found no column from_city, to_city, rtt_ms, kind; needed "
        "from_city, to_city, rtt_ms, kind\n"
    )


def test_people_see_the_line_beside_the_estimates(tmp_path: Path) -> None:
    done = call("--rows", written(tmp_path / "some.csv", carried(beside_ms=0.5)[::50]))

    assert done.returncode == 0, done.stderr
    for word in ("backbone_median_ms", "cross border", "within", "held out", "not estimated"):
        assert word in done.stdout
