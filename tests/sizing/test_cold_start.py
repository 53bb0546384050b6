"""The forecast of a start: against starts that were published, and what never shortens it."""

import csv
import statistics
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from warmfleet.catalog.servers import model_disks
from warmfleet.catalog.start_cost import StartAnchor, start_anchors
from warmfleet.sizing.cold_start import ACCURACY, StartState, StartTimes, graph_sizes, start_times
from warmfleet.sizing.load_strategy import Load, LoadJob, choose_load

ANCHORS = start_anchors()
ROOT = Path(__file__).resolve().parents[2]


def _forecast(anchor: StartAnchor) -> StartTimes:
    """Forecast with what the engine does by itself: it maps the files."""
    shape, state = anchor.shape, anchor.state
    disk = state.disk_gb_s or model_disks()[0].gb_per_s
    job = LoadJob("vllm", "pytorch", int(shape.files_gb * 1e9), shape.ranks, None, disk)
    mapped = choose_load(job).load
    assert mapped.id == "mmap"
    kept = StartState(state.compiled, mapped.hot_s if state.hot else mapped.cold_s)
    return start_times(
        "vllm", kept, layers=shape.layers, ranks=shape.ranks, graphs=shape.graph_sizes
    )


def _factor(anchor: StartAnchor) -> float:
    """Return what the start took over what was forecast, of the parts that were told apart."""
    forecast = _forecast(anchor)
    return sum(anchor.parts.values()) / sum(getattr(forecast, part) for part in anchor.parts)


def test_the_stated_accuracy_is_that_of_the_published_starts() -> None:
    factors = [_factor(anchor) for anchor in ANCHORS]
    off = statistics.median(abs(1 / factor - 1) for factor in factors)

    assert len(factors) == ACCURACY.starts
    assert round(off * 100) == ACCURACY.median_pct
    assert sum(0.5 <= factor <= 2 for factor in factors) == ACCURACY.within_two
    assert round(max(factors), 1) == ACCURACY.worst_factor


def test_logged_loads_lie_between_hot_and_cold_or_above() -> None:
    """Logs say neither disk nor cache, and count downloads: no load may beat the page cache."""
    with (ROOT / "benchmarks/data/vllm.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["load_seconds"] and row["weights_gib"]]
    took = [(float(row["load_seconds"]), _mapped(row)) for row in rows]
    whole = [(seconds, load) for seconds, load in took if seconds > 1]  # else it is start-up

    assert len(took) == 29
    assert sum(seconds < load.hot_s * 0.7 for seconds, load in took) == 0
    assert len(whole) == 23
    assert sum(seconds <= load.cold_s * 2 for seconds, load in whole) == 14


def _mapped(row: dict[str, str]) -> Load:
    ranks = int(row["tensor_parallel"] or 1) * int(row["pipeline_parallel"] or 1)
    size = int(float(row["weights_gib"]) * ranks * 2**30)
    return choose_load(
        LoadJob("vllm", "pytorch", size, ranks, None, model_disks()[0].gb_per_s)
    ).load


def test_graphs_are_those_that_vllm_captures() -> None:
    assert [graph_sizes(places) for places in (1, 4, 32, 256, 1024)] == [3, 4, 11, 67, 67]


STARTS = st.fixed_dictionaries(
    {"layers": st.integers(1, 200), "ranks": st.integers(1, 8), "graphs": st.integers(0, 67)}
)


@given(STARTS, STARTS, st.floats(0, 1000), st.sampled_from(["vllm", "llamacpp"]))
def test_more_of_anything_never_starts_sooner_and_what_is_kept_never_later(
    one, more, weights_s, engine
) -> None:
    larger = {name: max(one[name], more[name]) for name in one}
    cold, warm = StartState(False, weights_s), StartState(True, weights_s)

    small = start_times(engine, cold, **one)
    assert small.total <= start_times(engine, cold, **larger).total
    assert start_times(engine, warm, **one).total <= small.total
    assert small.total >= weights_s
