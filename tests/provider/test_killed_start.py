"""A podman that is killed while it starts a host, with the real one."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.faults.disturb import kill
from tests.faults.inventory import traces
from warmfleet.provider.backend import HostSpec, NetworkSpec
from warmfleet.provider.image import image_tag
from warmfleet.provider.killed_start import clear_killed_start
from warmfleet.provider.podman import Podman, _greets, _run_arguments
from warmfleet.provider.process import Finished

NETWORK = "warmfleet-t-held"
SUBNET_PREFIX = "10.89.92."
TAKEN = "Error: IPAM error: requested ip address 192.0.2.2 is already allocated to container ID b"


def refused(*_arguments: str) -> str:
    pytest.fail("something was cleared away")


@pytest.mark.parametrize(
    ("running", "printed"),
    [
        ({}, "Error: no such container"),
        ({"a": True}, "Error: it runs"),
        ({"a": False, "b": True}, TAKEN),
    ],
    ids=["no host", "a host that runs", "an address of a container that runs"],
)
def test_nothing_is_taken_from_what_lives(running, printed):
    def podman(*arguments: str) -> Finished:
        state = running.get(arguments[-1])
        found = [{"Id": "1", "State": {"Running": state}}]
        return Finished(125 if state is None else 0, json.dumps(found), "")

    as_root = refused if not running.get("b") else lambda *_: ""
    assert clear_killed_start("a", printed, podman, as_root) is False


@pytest.mark.machine
@pytest.mark.enable_socket
class TestKilledPodman:
    @pytest.fixture
    def podman(self):
        podman = Podman()
        podman.remove_network(NETWORK)
        nothing = traces(SUBNET_PREFIX, NETWORK)
        podman.create_network(
            NetworkSpec(name=NETWORK, environment="t-held", subnet=f"{SUBNET_PREFIX}0/24")
        )
        yield podman
        podman.remove_network(NETWORK)
        assert traces(SUBNET_PREFIX, NETWORK) == nothing

    def test_a_host_that_it_was_making_is_made(self, podman):
        neighbour = podman.create_host(host("a", 11))
        with killed("run"):
            made = podman.create_host(host("b", 12))
        assert made.address == f"{SUBNET_PREFIX}12"
        assert podman.find_host(neighbour.name) == neighbour
        podman.open_host(made.name, None)
        assert _greets(made.address)

    def test_a_host_that_it_was_starting_is_started_with_all_it_holds(self, podman):
        made = podman.create_host(host("a", 11))
        before = traces(SUBNET_PREFIX, NETWORK)
        podman._podman("stop", "--time", "0", made.name)
        with killed("start"):
            podman._podman("start", made.name)

        podman.start_host(made.name)

        assert podman.find_host(made.name) == made
        assert traces(SUBNET_PREFIX, NETWORK) == before

    def test_the_first_host_that_it_was_making_goes_with_its_network(self, podman):
        with killed("run"):
            podman._podman(*_run_arguments(host("a", 11)))
        left = podman.find_host(f"{NETWORK}-a")
        assert left is not None
        assert left.never_started


def host(name, number):
    return HostSpec(
        name=f"{NETWORK}-{name}",
        hostname=name,
        environment="t-held",
        image=image_tag(),
        network=NETWORK,
        private_address=f"{SUBNET_PREFIX}{number}",
        published_ports={22: 23700 + number},
    )


@contextmanager
def killed(verb: str) -> Iterator[None]:
    """Kill the ``podman`` that is started in the block, once it has taken the address."""
    said: list[str] = []
    harm = kill(rf"^podman {verb} ", beside=r"/netavark .*setup")
    killer = threading.Thread(target=lambda: said.extend(harm(os.getpid())))
    killer.start()
    yield
    killer.join()
    assert said, "podman was done before it was killed"
