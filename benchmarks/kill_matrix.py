"""Does the next run repair what a killed, starved or disputed `up` of the stack left?

    python benchmarks/kill_matrix.py [--json] [--quick]

The stack of a fleet of its own is brought up once undisturbed. Then, point by point, it is given
something to do, harmed in the middle of it, and brought up again. A harmed run must end in bounded
time with one line; the next one must end with the state of the undisturbed stack: containers,
network, addresses, rules, resources, files, no process and no temporary file more. What Ansible
does afterwards is not harmed here. The quick form does one point.
"""

import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from _figures import Figure, command, figure, note, progress
from _kill_points import POINTS, STACK_UP, Point

from tests.faults.disturb import Disturbed, disturb
from tests.faults.fleet import ENVIRONMENT, SUBNET_PREFIX, Fleet
from tests.faults.inventory import differences, state, traces
from warmfleet.provider.podman import Podman

_LIMITS_S = (300, 7200)
_RUN_S = 900
_ERROR_S = 150.0
"""What a run may take from the harm to its end."""
_QUICK = "podman, address just taken"


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
            points = [point for point in POINTS if point.name == _QUICK or not quick]
            runs = list(_gone_through(fleet, points))
        finally:
            fleet.run("warmfleet", "down", ENVIRONMENT)
            left = differences(traces(SUBNET_PREFIX, network), nothing)
            Podman().remove_network(network)
    if left:
        note(f"after down: {left}")
    unrepaired = sum(bool(run.wrong) for run in runs) + bool(left)
    harmed = [run.harmed_s for run in runs]
    return [
        figure("not_repaired", [unrepaired], "points", "lower", goal=0, n=len(runs)),
        figure("harm_to_end", harmed, "s", "lower", value=max(harmed), goal=_ERROR_S),
        figure("repairing_run", [run.repaired_s for run in runs], "s", "lower"),
    ]


@dataclass(frozen=True)
class _Run:
    """One point, gone through."""

    harmed_s: float
    repaired_s: float
    wrong: list[str]


def _gone_through(fleet: Fleet, points: Sequence[Point]) -> Iterator[_Run]:
    for failure in _unrepaired(fleet):
        raise RuntimeError(failure)
    wanted = state(fleet, inside=False)
    for point in points:
        progress(f"{point.name} ...")
        harmed = _harmed(fleet, point)
        wrong = list(_unlike_told(point, harmed))
        began = time.monotonic()
        wrong += _unrepaired(fleet)
        repaired_s = time.monotonic() - began
        wrong += differences(state(fleet, inside=False), wanted)
        said = harmed.errors[-1] if harmed.errors else f"status {harmed.status}"
        note(
            f"{point.name}: {said}; then {'; '.join(wrong[:9]) or 'as undisturbed'}".replace(
                str(fleet.folder), ""
            )
        )
        yield _Run(harmed.seconds, repaired_s, wrong)


def _harmed(fleet: Fleet, point: Point) -> Disturbed:
    point.before(fleet)
    try:
        return disturb(
            *(STACK_UP, fleet.variables, point.moment, point.harm(fleet)),
            delay_s=point.delay_s,
            limit_s=_RUN_S,
        )
    finally:
        point.heal(fleet)


def _unlike_told(point: Point, harmed: Disturbed) -> Iterator[str]:
    """Tell in what the harmed run did not end as it should."""
    if not harmed.harm:
        yield f"no harm was done: {harmed.lines[-3:]}"
    if harmed.seconds > _ERROR_S:
        yield f"took {harmed.seconds:.0f} s to its end"
    if any("Traceback" in line for line in harmed.lines):
        yield "a traceback was printed"
    if point.says is None:
        if harmed.errors or harmed.status not in {0, -signal.SIGKILL}:
            yield f"ended with {harmed.status}: {harmed.errors or harmed.lines[-3:]}"
    elif len(harmed.errors) != 1 or not re.search(point.says, harmed.errors[0]):
        yield f"said {harmed.errors or harmed.lines[-3:]}, not {point.says}"


def _unrepaired(fleet: Fleet) -> Iterator[str]:
    """Run to the end; tell how that failed."""
    done = fleet.run(*STACK_UP, limit_s=_RUN_S)
    if done.returncode != 0:
        yield f"the next run ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"


if __name__ == "__main__":
    sys.exit(main())
