"""The planner's memory against what engines logged."""

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tools.loading import TOOLS

SCRIPT = TOOLS.parent / "benchmarks" / "sizing_truth.py"
DATA = SCRIPT.parent / "data"
GOALS = {
    "weights_median_pct": 2,
    "weights_p90_pct": 6,
    "kv_tokens_median_pct": 6,
    "kv_tokens_p90_pct": 15,
    "llamacpp_weights_median_pct": 1,
    "llamacpp_kv_median_pct": 1,
    "oom_balanced_accuracy_pct": 85,
}


def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    done = call("--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_all_goals_are_met_on_the_rows_that_are_carried(document: dict[str, Any]) -> None:
    figures = {item["name"]: item for item in document["figures"]}

    assert {name: item["goal"] for name, item in figures.items()} == GOALS
    for name, item in figures.items():
        sign = 1 if item["better"] == "lower" else -1
        assert sign * item["value"] <= sign * item["goal"], name
        assert document[name] == item["value"]


def test_no_row_is_dropped_in_silence(document: dict[str, Any]) -> None:
    stated = {"weights": 0, "kv_tokens": 0, "llamacpp_weights": 0, "llamacpp_kv": 0, "oom": 0}
    for file in DATA.glob("*.csv"):
        for row in csv.DictReader(file.read_text(encoding="utf-8").splitlines()):
            stated["weights"] += bool(row.get("weights_gib"))
            stated["kv_tokens"] += bool(row.get("kv_tokens") or row.get("kv_cache_gib"))
            stated["llamacpp_weights"] += bool(row.get("file_size_gib"))
            stated["llamacpp_kv"] += bool(row.get("kv_mib"))
            stated["oom"] += bool(row.get("fit"))
            assert row["source"]
    counted = dict(document["sized"])
    for found in document["not_sized"]:
        counted[found["metric"]] += found["n"]
        assert found["reason"]
    assert counted == stated


def test_other_files_are_taken_and_what_is_unknown_is_said(tmp_path: Path) -> None:
    with (DATA / "vllm.csv").open() as stream:
        header, first, *_ = stream.read().splitlines()
    other = tmp_path / "other.csv"
    unknown = first.replace("BAAI/bge-base-en-v1.5", "nobody/x-7B")
    other.write_text(f"{header}\n{first}\n{unknown}\n")

    done = call("--rows", other)

    assert done.returncode == 0
    assert "weights_median_pct" in done.stdout
    assert "1  model not in the catalog: nobody/x-7B" in done.stdout


def test_a_file_of_another_form_is_one_line(tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")

    done = call(other)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        f"error: sizing_truth: {other}: found no column weights_gib or kv_mib or fit; needed one "
        "of them"
    ]
