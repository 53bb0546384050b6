"""The page of figures: what is in it, and that a loss is never left out."""

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.tools.loading import load_tool

FIGURE = {
    "name": "added_p50",
    "value": 2.5,
    "min": 2.0,
    "max": 9.0,
    "unit": "ms",
    "better": "lower",
    "n": 5,
    "machine": "a processor, 2 cores, load 0.1 before",
}


@pytest.fixture
def performance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = load_tool("performance")
    monkeypatch.setattr(module, "BENCHMARKS", tmp_path)
    monkeypatch.setattr(module, "PAGE", tmp_path / "performance.md")
    (tmp_path / "results").mkdir()
    (tmp_path / "edge.py").write_text('"""What does the edge cost?\n\nMore.\n"""\n')
    return module


def write(performance: ModuleType, *figures: dict[str, Any], quick: bool = False) -> None:
    document = {"name": "edge", "quick": quick, "figures": figures, "notes": ["A peer is absent."]}
    (performance.BENCHMARKS / "results" / "edge.json").write_text(json.dumps(document))


def call(performance: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["performance.py", *arguments])
    return int(performance.main())


def test_the_page_follows_the_results(
    performance: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(performance, FIGURE)
    assert call(performance, monkeypatch, "--check") == 3
    assert not performance.PAGE.exists()
    assert call(performance, monkeypatch) == 0
    assert call(performance, monkeypatch, "--check") == 0
    page = performance.PAGE.read_text()
    assert "Nowhere." in page
    assert "What does the edge cost?" in page
    assert "| added_p50 | 2.50 ms | 2.00 to 9.00 | 5 |  |  |" in page
    assert "Long form; a processor, 2 cores, load 0.1 before." in page
    assert "A peer is absent." in page
    write(performance, FIGURE | {"value": 2.6}, quick=True)
    assert call(performance, monkeypatch, "--check") == 3
    assert call(performance, monkeypatch) == 0
    assert "Quick form" in performance.PAGE.read_text()


@pytest.mark.parametrize(
    ("better", "against", "line"),
    [
        ("lower", {"goal": 2.0}, "is 2.50 ms; the goal is 2.00"),
        ("higher", {"goal": 3.0}, "is 2.50 ms; the goal is 3.00"),
        ("lower", {"peer": {"name": "other", "value": 1.0}}, "is 2.50 ms; other has 1.00"),
        ("lower", {"goal": 2.5}, None),
        ("higher", {"goal": 2.0, "peer": {"name": "other", "value": 1.0}}, None),
    ],
)
def test_a_loss_is_told_first(
    performance: ModuleType, better: str, against: dict[str, Any], line: str | None
) -> None:
    write(performance, FIGURE | {"better": better} | against)
    page = performance.page(performance.results(performance.BENCHMARKS))
    told = page.partition("## Where we lose")[2].partition("##")[0].strip()
    assert told == (f"- `edge`: added_p50 {line}" if line else "Nowhere.")


def test_the_page_in_the_checkout_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(load_tool("performance"), monkeypatch, "--check") == 0
