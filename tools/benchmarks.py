"""Run every script of ``benchmarks/`` and show its figures.

    python tools/benchmarks.py [--quick] [NAME ...]

A script takes ``--json`` and ``--quick`` and prints JSON with a ``figures`` list. Results of long
runs are kept in ``benchmarks/results``; quick ones are only shown, for they are no measurement.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"


def main() -> int:
    """Run the scripts one after the other; 1 when one failed or there is none."""
    parser = argparse.ArgumentParser(description="Run the benchmarks and show their figures.")
    parser.add_argument("--quick", action="store_true", help="short runs, results not kept")
    parser.add_argument("names", nargs="*", help="scripts, without .py (all of them)")
    arguments = parser.parse_args()
    known = {path.stem: path for path in sorted(FOLDER.glob("[a-z]*.py"))}
    names = arguments.names or list(known)
    if not names or (unknown := [name for name in names if name not in known]):
        wanted = ", ".join(unknown) if names else "any"
        there = ", ".join(known) or "none"
        print(f"error: no benchmark {wanted} in {FOLDER} (there are: {there})", file=sys.stderr)
        return 1
    return max([run(known[name], quick=arguments.quick) for name in names])


def run(script: Path, *, quick: bool) -> int:
    """Run one script, print a line a figure, keep the result of a long run."""
    command = [sys.executable, str(script), "--json", *(["--quick"] if quick else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        print(f"{script.stem}: failed with status {done.returncode}", file=sys.stderr)
        return 1
    result = json.loads(done.stdout)
    for figure in result["figures"]:
        print(f"{script.stem}: {line(figure)}")
    if not quick:
        kept = FOLDER / "results" / f"{script.stem}.json"
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps(result, indent=2, sort_keys=True) + "\n")
    return 0


def line(figure: dict[str, Any]) -> str:
    """Return one figure as text, beside its peer's where it has one."""
    text = f"{figure['name']} {figure['value']:g} {figure['unit']} (n={figure['n']})"
    if peer := figure.get("peer"):
        text += f", {peer['name']} {peer['value']:g} {figure['unit']}"
    return text


if __name__ == "__main__":
    sys.exit(main())
