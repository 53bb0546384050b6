"""The ledger accounts for every second, once."""

import json
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_app.ledger import PHASES, Ledger

_IDENTITY = {"model": "chat", "revision": "r1", "host": "replica-1"}


class _Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _ledger(folder: Path, clock: _Clock) -> Ledger:
    return Ledger(folder, _IDENTITY, started=100.0, clock=clock)


def test_phases_follow_each_other_and_sum_to_the_total(tmp_path: Path) -> None:
    clock = _Clock()
    ledger = _ledger(tmp_path, clock)
    for name, seconds in zip(PHASES[1:], (0.5, 1.5, 0.25, 2.0, 0.125, 4.0, 8.0), strict=True):
        clock.now += seconds
        ledger.begin(name, {"bytes": 5_000_000_000} if name == "weights" else None)
    clock.now += 0.0625
    ledger.finish()
    clock.now += 1000  # what comes after the end is not part of the start

    document = ledger.document()
    phases = document["phases"]
    assert isinstance(phases, list)
    assert [phase["name"] for phase in phases] == list(PHASES)
    assert [phase["duration_s"] for phase in phases] == [0.5, 1.5, 0.25, 2, 0.125, 4, 8, 0.0625]
    assert document["total_s"] == sum(phase["duration_s"] for phase in phases)
    assert phases[3]["detail"] == {"bytes": 5_000_000_000, "gb_per_s": 2.5}
    assert document["state"] == "ready"
    assert document["failure"] is None
    assert document | _IDENTITY == document


@given(
    st.lists(
        st.tuples(
            st.sampled_from(PHASES),
            st.floats(0, 50),
            st.none() | st.floats(min_value=90, max_value=400),
        ),
        max_size=20,
    )
)
def test_no_report_can_make_it_overlap(
    tmp_path_factory: pytest.TempPathFactory, reports: list[tuple[str, float, float | None]]
) -> None:
    clock = _Clock()
    ledger = _ledger(tmp_path_factory.getbasetemp() / "property", clock)
    for name, seconds, at in reports:
        clock.now += seconds
        ledger.begin(name, at=at)
    ledger.finish()
    phases = ledger.document()["phases"]
    assert isinstance(phases, list)
    order = [PHASES.index(phase["name"]) for phase in phases]
    assert order == sorted(order)
    end = 0.0
    for phase in phases:
        assert phase["start_s"] == pytest.approx(end, abs=1e-5)
        assert phase["duration_s"] >= 0
        end = phase["start_s"] + phase["duration_s"]
    assert ledger.document()["total_s"] == pytest.approx(end, abs=1e-5)


def test_a_phase_that_comes_twice_or_late_changes_nothing(tmp_path: Path) -> None:
    ledger = _ledger(tmp_path, _Clock())
    assert ledger.begin("weights")
    assert not ledger.begin("weights")
    assert not ledger.begin("imports")
    assert ledger.begin("warmup")
    assert ledger.begin("warmup"), "the warm-up has one phase for each shape"
    ledger.finish()
    assert not ledger.begin("ready")


def test_each_step_is_on_disk_at_once(tmp_path: Path) -> None:
    clock = _Clock()
    ledger = _ledger(tmp_path, clock)
    ledger.begin("imports")
    clock.now += 3
    ledger.begin("engine_start")
    (path,) = tmp_path.glob("*.json")
    kept = json.loads(path.read_text())
    assert [phase["name"] for phase in kept["phases"]] == [
        "process_start",
        "imports",
        "engine_start",
    ]
    assert path.stem == kept["started_at"]
    datetime.fromisoformat(kept["started_at"])
    ledger.finish(failure="out of budget")
    kept = json.loads(path.read_text())
    assert (kept["state"], kept["failure"]) == ("failed", "out of budget")
    assert kept == ledger.document()


def test_the_slowest_phase_is_named_with_its_detail(tmp_path: Path) -> None:
    clock = _Clock()
    ledger = _ledger(tmp_path, clock)
    ledger.begin("warmup", {"prompt_tokens": 900})
    clock.now += 7
    assert ledger.slowest() == "warmup prompt_tokens=900 took 7.0 s"


def test_fifty_starts_are_kept(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"2026-01-01T00:00:{number:02}.000Z.json").write_text("{}")
    _ledger(tmp_path, _Clock()).begin("imports")
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert len(kept) == 50
    assert kept[0] == "2026-01-01T00:00:11.000Z.json"


def test_a_full_disk_takes_no_replica_down(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = _ledger(tmp_path / "ledger", _Clock())
    (tmp_path / "ledger").rmdir()  # a write fails from here on, as on a full disk
    ledger.begin("imports")
    assert "event=ledger_not_kept" in caplog.text
