"""Write ``docs/performance.md`` from the results in ``benchmarks/results``.

    python tools/performance.py [--check]

Exit 0: up to date or written. Exit 3: ``--check`` found that it differs.
"""

import argparse
import ast
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "benchmarks"
PAGE = ROOT / "docs" / "performance.md"
_HEAD = """# Performance

Written by `make docs` from `benchmarks/results/`; do not edit it. `benchmarks/README.md` says how
figures are taken. Each is a median; the spread is from the smallest to the largest. Engine,
service, nginx and the measuring client shared the cores of the machine that is named. One that is
marked busy did other work at the same time: its times tell little, ratios and memory more.
"""


def main() -> int:
    """Write or check the page and return the exit status."""
    parser = argparse.ArgumentParser(description="Write docs/performance.md.")
    parser.add_argument("--check", action="store_true", help="change nothing, exit 3 if it differs")
    arguments = parser.parse_args()
    new = page(results(BENCHMARKS))
    old = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    if new == old:
        return 0
    if arguments.check:
        print(f"{PAGE} differs from benchmarks/results; run: make docs")
        return 3
    PAGE.write_text(new, encoding="utf-8")
    print(f"wrote {PAGE}")
    return 0


def results(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what each script has measured, with its question."""
    found = {}
    for path in sorted((folder / "results").glob("*.json")):
        script = folder / f"{path.stem}.py"
        question = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
        document = json.loads(path.read_text(encoding="utf-8"))
        found[path.stem] = {**document, "question": question.partition("\n")[0]}
    return found


def page(found: dict[str, dict[str, Any]]) -> str:
    """Return the page as Markdown."""
    lost = [
        f"- `{name}`: {_loss(figure)}"
        for name, result in found.items()
        for figure in result["figures"]
        if lost_to(figure)
    ]
    nothing = "Nowhere." if found else "Nothing is measured yet: `make soak` does it."
    parts = [_HEAD, "## Where we lose\n", "\n".join(lost or [nothing]) + "\n"]
    for name, result in found.items():
        parts += [f"## {name}\n", f"{result['question']}\n", _machines(result), _table(result)]
        parts += [f"{text}\n" for text in result["notes"]]
    return "\n".join(parts)


def lost_to(figure: dict[str, Any]) -> list[str]:
    """Return what a figure is worse than: ``goal``, ``peer``, both or neither."""
    against = {"goal": figure.get("goal"), "peer": figure.get("peer", {}).get("value")}
    sign = 1 if figure["better"] == "lower" else -1
    return [
        name
        for name, value in against.items()
        if value is not None and sign * (figure["value"] - value) > 0
    ]


def _loss(figure: dict[str, Any]) -> str:
    text = f"{figure['name']} is {number(figure['value'])} {figure['unit']}"
    if "goal" in lost_to(figure):
        text += f"; the goal is {number(figure['goal'])}"
    if "peer" in lost_to(figure):
        text += f"; {figure['peer']['name']} has {number(figure['peer']['value'])}"
    return text


def _machines(result: dict[str, Any]) -> str:
    machines = sorted({figure["machine"] for figure in result["figures"]})
    form = (
        "Quick form, which shows that the script works and little more"
        if result["quick"]
        else ("Long form")
    )
    return f"{form}; {'; '.join(machines)}.\n"


def _table(result: dict[str, Any]) -> str:
    rows = ["| figure | median | spread | n | goal | beside it |", "|---|---|---|---|---|---|"]
    for figure in result["figures"]:
        spread = f"{number(figure['min'])} to {number(figure['max'])}"
        goal = ""
        if "goal" in figure:
            verdict = "missed" if "goal" in lost_to(figure) else "met"
            goal = f"{number(figure['goal'])}, {verdict}"
        peer = figure.get("peer")
        beside = f"{peer['name']}: {number(peer['value'])}" if peer else ""
        rows.append(
            f"| {figure['name']} | {number(figure['value'])} {figure['unit']} | {spread} "
            f"| {figure['n']} | {goal} | {beside} |"
        )
    return "\n".join(rows) + "\n"


def number(value: float) -> str:
    """Return three digits that matter, never an exponent."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:.{digits}f}"


if __name__ == "__main__":
    sys.exit(main())
