"""Progress must read well in a log file and must never lose a stage's time."""

import io
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from rich.console import Console

from warmfleet.deploy.progress import Reporter


def _reporter() -> tuple[Reporter, io.StringIO]:
    written = io.StringIO()
    return Reporter(Console(file=written, width=80)), written


def test_plain_output_is_one_line_a_step_with_time_and_stage() -> None:
    reporter, written = _reporter()
    with reporter, reporter.stage("stack") as stage:
        stage.update("creating [gw-1] " + "x" * 100)
    lines = written.getvalue().splitlines()
    assert [re.sub(r"[\d.]+ s", "T", line).split(maxsplit=2)[1:] for line in lines] == [
        ["stack", "started"],
        ["stack", "creating [gw-1] " + "x" * 100],
        ["stack", "done in T"],
    ]


def test_a_failed_stage_says_so_and_has_no_time() -> None:
    reporter, written = _reporter()
    with pytest.raises(ZeroDivisionError), reporter, reporter.stage("converge"):
        raise ZeroDivisionError
    assert "failed after" in written.getvalue()
    assert reporter.times == []


def test_stages_side_by_side_are_all_timed() -> None:
    reporter, _ = _reporter()

    def work(name: str) -> None:
        with reporter.stage(name) as stage:
            stage.update("working")

    with reporter, ThreadPoolExecutor() as pool:
        list(pool.map(work, ["image", "wheelhouse", "weights"]))
    assert {time.name for time in reporter.times} == {"image", "wheelhouse", "weights"}


def test_passing_detail_leaves_no_line_in_plain_output() -> None:
    reporter, written = _reporter()
    with reporter, reporter.stage("converge") as stage:
        stage.update("replica-1: copy weights", passing=True)
        stage.update("replica-1: copy weights: changed")
    assert written.getvalue().count("copy weights") == 1
