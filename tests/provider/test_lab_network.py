import pytest

from warmfleet.errors import StackError
from warmfleet.provider.lab_network import LabNetwork
from warmfleet.provider.resource import Change

INPUTS = {"environment": "test", "owner": "0123456789abcdef", "subnet": "192.0.2.0/24"}


@pytest.fixture
def network(backend):
    return LabNetwork(backend)


@pytest.mark.parametrize("subnet", ["192.0.2.0", "192.0.2.1/24", "192.0.2.0/30", "2001:db8::/64"])
def test_a_subnet_that_cannot_hold_a_site_is_refused(network, subnet):
    [failure] = network.check({**INPUTS, "subnet": subnet})
    assert failure.property == "subnet"


def test_create_read_and_delete(network, backend):
    state = network.create(INPUTS)
    assert state == {**INPUTS, "name": "warmfleet-test"}
    assert network.read("warmfleet-test", state) == state
    network.delete("warmfleet-test")
    network.delete("warmfleet-test")
    assert backend.networks == {}
    assert network.read("warmfleet-test", state) is None


def test_the_network_of_another_checkout_is_not_it(network):
    state = network.create(INPUTS)
    assert network.read("warmfleet-test", {**state, "owner": "f" * 16}) is None


def test_a_failed_read_is_no_proof_of_absence(network, backend):
    state = network.create(INPUTS)
    backend.broken = "podman does not answer"
    with pytest.raises(StackError):
        network.read("warmfleet-test", state)


def test_another_subnet_replaces(network):
    state = network.create(INPUTS)
    changes = network.diff(state, {**INPUTS, "subnet": "198.51.100.0/24"})
    assert changes == [Change("subnet", "update", replaces=True)]
