"""Does the next `warmfleet up` repair what a killed, cut off or starved one left?

    python benchmarks/kill_matrix.py [--json] [--quick]

A fleet of its own is brought up once undisturbed. Then, point by point, `warmfleet up` has
something to do and is harmed in the middle of it; after some points, each going on from what the
one before it left, it is let run to its end. A harmed run must end in bounded time with one line;
the last one must end with the state of the undisturbed fleet: containers, network, addresses,
rules, stack, files on both sides, no process and no temporary file more. Points of the stack alone
are repaired one by one. The quick form does one of these.
"""

import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _figures import Figure, command, figure, note, progress
from _kill_points import STACK_POINTS, STACK_UP, STORMS, UP, Point

from tests.faults.disturb import Disturbed, disturb
from tests.faults.fleet import ENVIRONMENT, SUBNET_PREFIX, Fleet
from tests.faults.inventory import differences, state, traces
from warmfleet.provider.podman import Podman

_LIMITS_S = (300, 7200)
_RUN_S = 900
_ERROR_S = 150.0
"""What a run may take from the harm to its end: SSH gives up a silent host after 60 s, twice."""
_QUICK = "podman and provider, address just taken"


def main() -> int:
    """Measure and print; return the exit status."""
    return command(
        _measure, name="kill_matrix", description=str(__doc__).splitlines()[0], limits_s=_LIMITS_S
    )


def _measure(quick: bool) -> list[Figure]:
    network = f"warmfleet-{ENVIRONMENT}"
    Podman().remove_network(network)  # with hosts that a killed run left
    nothing = traces(SUBNET_PREFIX, network)
    with tempfile.TemporaryDirectory(prefix="warmfleet-kills-") as folder:
        fleet = Fleet(Path(folder))
        try:
            storms = list(_quick(fleet) if quick else _long(fleet))
        finally:
            fleet.run("warmfleet", "down", ENVIRONMENT)
            left = differences(traces(SUBNET_PREFIX, network), nothing)
            Podman().remove_network(network)
    if left:
        note(f"after down: {left}")
    points = [point for storm in storms for point in storm.points]
    told = [point.seconds for point in points if point.told]
    unrepaired = sum(bool(storm.wrong) for storm in storms) + bool(left)
    otherwise = sum(point.otherwise for point in points)
    return [
        figure("not_repaired", [unrepaired], "storms", "lower", goal=0, n=len(storms)),
        figure("ended_otherwise", [otherwise], "points", "lower", goal=0, n=len(points)),
        figure("points", [len(points)], "points", "higher"),
        figure("harm_to_error", told, "s", "lower", value=max(told), goal=_ERROR_S),
        figure("repairing_run", [storm.repaired_s for storm in storms], "s", "lower"),
    ]


@dataclass(frozen=True)
class _Harmed:
    """How a harmed run ended."""

    seconds: float
    told: bool
    """Whether an error was due; where none was, the run went on to its end, or was no more."""
    otherwise: bool
    """It ended in another way than it should."""


@dataclass(frozen=True)
class _Storm:
    """Points that were gone through one after the other, and the run that repaired them."""

    points: list[_Harmed]
    repaired_s: float
    wrong: list[str]
    """In what the state differed then."""


def _quick(fleet: Fleet) -> Iterator[_Storm]:
    _succeed(fleet, STACK_UP)
    wanted = state(fleet, inside=False)
    yield _storm(fleet, [point for point in STACK_POINTS if point.name == _QUICK], STACK_UP, wanted)


def _long(fleet: Fleet) -> Iterator[_Storm]:
    _succeed(fleet, UP)
    whole = state(fleet, inside=True)
    outside = {name: part for name, part in whole.items() if name != "hosts"}
    for point in STACK_POINTS:
        yield _storm(fleet, [point], STACK_UP, outside)
    for points in STORMS.values():
        yield _storm(fleet, points, UP, whole)


def _storm(
    fleet: Fleet, points: Sequence[Point], command: Sequence[str], wanted: dict[str, Any]
) -> _Storm:
    gone: list[_Harmed] = []
    for point in points:
        progress(f"{point.name} ...")
        harmed = _harmed(fleet, point, command)
        unlike = list(_unlike_told(point, harmed))
        said = harmed.errors[-1] if harmed.errors else f"status {harmed.status}"
        note(f"{point.name}: {harmed.seconds:.0f} s later: {said}{_marked(unlike)}")
        gone.append(_Harmed(harmed.seconds, point.says is not None, bool(unlike)))
    began = time.monotonic()
    unlike = list(_unrepaired(fleet, command))
    repaired_s = time.monotonic() - began
    unlike += differences(state(fleet, inside="hosts" in wanted), wanted)
    note(f"  repaired in {repaired_s:.0f} s, as undisturbed{_marked(unlike)}")
    return _Storm(gone, repaired_s, unlike)


def _marked(wrong: Sequence[str]) -> str:
    return f", BUT {'; '.join(wrong[:9])}" if wrong else ""


def _harmed(fleet: Fleet, point: Point, command: Sequence[str]) -> Disturbed:
    point.before(fleet)
    try:
        return disturb(
            *(point.command or command, fleet.variables, point.moment, point.harm(fleet)),
            delay_s=point.delay_s,
            limit_s=_RUN_S,
        )
    finally:
        point.heal(fleet)


def _unlike_told(point: Point, harmed: Disturbed) -> Iterator[str]:
    """Tell in what the harmed run did not end as it should."""
    if not harmed.harm:
        yield f"no harm was done: {harmed.lines[-3:]}"
    if point.says is not None and harmed.seconds > _ERROR_S:
        yield f"took {harmed.seconds:.0f} s to its end"
    if any("Traceback" in line for line in harmed.lines):
        yield "a traceback was printed"
    if point.says is None:
        if harmed.errors or harmed.status not in {0, -signal.SIGKILL}:
            yield f"ended with {harmed.status}: {harmed.errors or harmed.lines[-3:]}"
    elif len(harmed.errors) != 1 or not re.search(point.says, harmed.errors[0]):
        yield f"said {harmed.errors or harmed.lines[-3:]}, not {point.says}"


def _unrepaired(fleet: Fleet, command: Sequence[str]) -> Iterator[str]:
    """Run to the end; tell how that failed."""
    done = fleet.run(*command, limit_s=_RUN_S)
    if done.returncode != 0:
        yield f"the next run ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"


def _succeed(fleet: Fleet, command: Sequence[str]) -> None:
    for failure in _unrepaired(fleet, command):
        raise RuntimeError(failure)


if __name__ == "__main__":
    sys.exit(main())
