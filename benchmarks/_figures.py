"""Figures in one form, and the command line that every script has."""

import argparse
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from warmfleet.errors import WarmfleetError

_BUSY_LOAD = 0.7
_EXPECTED = (OSError, RuntimeError, ValueError, WarmfleetError, subprocess.SubprocessError)
Figure = dict[str, Any]


def figure(
    name: str,
    values: Sequence[float],
    unit: str,
    better: str,
    *,
    goal: float | None = None,
    peer: dict[str, Any] | None = None,
    value: float | None = None,
    n: int | None = None,
) -> Figure:
    """Return one figure: the median of ``values`` and their spread.

    Args:
        name: unique in its script.
        values: one a run.
        unit: of the values.
        better: ``lower`` or ``higher``.
        goal: what was promised.
        peer: ``{"name", "value"}`` of what was measured beside it.
        value: of all runs together where that is not their median, such as a 95th percentile.
        n: measurements behind it where that is not the number of values.
    """
    return {
        "name": name,
        "value": statistics.median(values) if value is None else value,
        "min": min(values),
        "max": max(values),
        "unit": unit,
        "better": better,
        "n": len(values) if n is None else n,
        "machine": machine(),
        **({} if goal is None else {"goal": goal}),
        **({} if peer is None else {"peer": peer}),
    }


def truth_arguments(prog: str, about: str, *, takes: str) -> argparse.Namespace:
    """Read the command line of a script that holds estimates against files of rows."""
    parser = argparse.ArgumentParser(prog=prog, description=about)
    parser.add_argument("files", nargs="*", type=Path, metavar="CSV")
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    parser.add_argument("--quick", action="store_true", help=f"the same: it takes {takes}")
    parser.add_argument("--rows", action="store_true", help="print each row's error too")
    return parser.parse_args()


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the value below which ``percent`` of the values lie, by the nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def machine() -> str:
    """Return what the figures were measured on, and what it did besides when the script began."""
    busy = " (busy)" if _LOAD_BEFORE > _BUSY_LOAD else ""
    return f"{_processor()}, {os.cpu_count()} cores, load {_LOAD_BEFORE:.1f} before{busy}"


def note(text: str) -> None:
    """Keep a sentence with the figures: what could not be measured, and why."""
    _NOTES.append(text)
    progress(text)


def progress(line: str) -> None:
    """Tell how far the script is."""
    print(line, file=sys.stderr, flush=True)


def command(
    measure: Callable[[bool], list[Figure]],
    *,
    name: str,
    description: str,
    limits_s: tuple[int, int],
) -> int:
    """Run one script; a failure is one line and status 1.

    Args:
        measure: returns the figures; its argument says whether the quick form is wanted.
        name: of the script.
        description: for ``--help``.
        limits_s: longest time of the quick and of the long form.
    """
    parser = argparse.ArgumentParser(prog=f"{name}.py", description=description)
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    parser.add_argument("--quick", action="store_true", help="within a minute, no measurement")
    arguments = parser.parse_args()
    limit_s = limits_s[0] if arguments.quick else limits_s[1]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))

    def end(_number: int, _frame: FrameType | None) -> None:
        msg = f"not done within {limit_s} s"
        raise TimeoutError(msg)

    signal.signal(signal.SIGALRM, end)
    signal.alarm(limit_s)
    try:
        figures = measure(arguments.quick)
    except KeyboardInterrupt:
        return 130
    except _EXPECTED as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        print(f"error: {name}: {reason}", file=sys.stderr)
        return 1
    finally:
        signal.alarm(0)
    if arguments.json:
        document = {
            "name": name,
            "quick": arguments.quick,
            "figures": figures,
            "notes": _NOTES,
        }
        print(json.dumps(document, indent=2))
    else:
        for item in figures:
            print(_line(item))
    return 0


def _line(item: Figure) -> str:
    text = f"{item['name']:<36}{item['value']:10.3f} {item['unit']}"
    text += f"  ({item['min']:.3f} to {item['max']:.3f}, n={item['n']})"
    if "goal" in item:
        text += f"  goal {item['goal']:g}"
    if "peer" in item:
        text += f"  {item['peer']['name']} {item['peer']['value']:.3f}"
    return text


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


_LOAD_BEFORE = os.getloadavg()[0]
_NOTES: list[str] = []
