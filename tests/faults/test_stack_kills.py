"""A stack survives kill -9 of what works on it: running it again repairs it.

These are the quick points, of the stack alone. The whole matrix, through Ansible to a warm answer,
is ``benchmarks/kill_matrix.py``.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.faults.disturb import disturb, kill
from tests.faults.fleet import ENVIRONMENT, STACK, Fleet
from tests.faults.inventory import differences, state
from warmfleet.provider.podman import Podman

pytestmark = [pytest.mark.engine, pytest.mark.machine, pytest.mark.timeout(300)]

CREATING = "replica-2: creating"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    Podman().remove_network(f"warmfleet-{ENVIRONMENT}")  # with hosts that a killed run left
    fleet = Fleet(tmp_path_factory.mktemp("faults"))
    yield fleet
    Podman().remove_network(f"warmfleet-{ENVIRONMENT}")  # only when a test left it


@pytest.fixture(scope="module")
def undisturbed(fleet: Fleet) -> Any:
    done = fleet.run(*STACK, "up", ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    found = state(fleet, inside=False)
    assert len(found["containers"]) == 3
    assert len(found["stack"]["resources"]) == 9
    assert len(found["addresses"]) == 4
    # What is not written in one step can be cut short by a kill, and then nothing is read.
    assert not list((fleet.project.state / "backend").rglob("*.attrs"))
    return found


def test_the_next_run_ends_as_an_undisturbed_one(fleet: Fleet, undisturbed: Any) -> None:
    fleet.lose("replica-2")
    # The worst moment: the host's address is taken, and not yet written down as its.
    harm = kill("^podman run |pulumi-resource-warmfleet", beside="/netavark .*setup")
    disturbed = disturb([*STACK, "up", ENVIRONMENT], fleet.variables, CREATING, harm)
    assert disturbed.harm, disturbed.lines
    assert disturbed.status != 0
    assert "Traceback" not in "\n".join(disturbed.lines)
    assert len(disturbed.errors) == 1, disturbed.lines

    again = fleet.run(*STACK, "up", ENVIRONMENT)

    assert again.returncode == 0, again.stderr
    assert differences(state(fleet, inside=False), undisturbed) == []


def test_a_killed_removal_is_ended_by_the_next(fleet: Fleet, undisturbed: Any) -> None:
    assert undisturbed
    disturbed = disturb(
        [*STACK, "destroy", ENVIRONMENT],
        fleet.variables,
        "replica-1: removing",
        kill("/pulumi destroy "),
    )
    assert disturbed.harm, disturbed.lines

    again = fleet.run(*STACK, "destroy", ENVIRONMENT)

    assert again.returncode == 0, again.stderr
    left = state(fleet, inside=False)
    assert {name: left[name] for name in left if left[name]} == {
        "files": left["files"],
        "stack": {"locks": 0},
    }
