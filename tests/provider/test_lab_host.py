import pytest

from warmfleet.errors import StackError
from warmfleet.provider.codec import UNKNOWN
from warmfleet.provider.lab_host import LabHost
from warmfleet.provider.resource import Change

CONTAINER = "warmfleet-test-replica-1"


@pytest.fixture
def host(backend):
    return LabHost(backend)


@pytest.fixture
def state(host, host_inputs):
    return host.create(host_inputs)


def reasons(failures):
    return {failure.property: failure.reason for failure in failures}


class TestCheck:
    def test_good_inputs_pass(self, host, host_inputs):
        assert host.check(host_inputs) == []

    def test_every_failure_is_collected_by_property(self, host, host_inputs):
        wrong = {
            **host_inputs,
            "name": "Replica_1",
            "private_address": "192.0.2.256",
            "cpus": 0,
            "memory_mb": 1,
            "authorized_key": "ssh-rsa AAAA",
            "colour": "red",
        }
        del wrong["network"]
        assert set(reasons(host.check(wrong))) == {
            "name",
            "private_address",
            "cpus",
            "memory_mb",
            "authorized_key",
            "colour",
            "network",
        }

    @pytest.mark.parametrize(
        ("ports", "reason"),
        [
            ({"443": 8443}, "port 22 is not published"),
            ({"22": 70000}, "70000 is not a port"),
            ({"22": 2211, "x": 2212}, "x is not a port"),
            ({"22": 2211, "443": 2211}, "published twice"),
        ],
    )
    def test_ports_must_make_sense(self, host, host_inputs, ports, reason):
        failures = reasons(host.check({**host_inputs, "published_ports": ports}))
        assert reason in failures["published_ports"]

    def test_a_port_of_another_program_is_named(self, host, host_inputs, backend):
        backend.busy_ports = {2211}
        [failure] = host.check(host_inputs)
        assert failure.property == "published_ports"
        assert failure.reason.startswith("port 2211 on 127.0.0.1 is taken by another program; ")

    def test_a_port_that_this_host_holds_is_not_busy(self, host, host_inputs, backend, state):
        backend.busy_ports = {2211}
        assert state["started"]
        assert host.check(host_inputs) == []

    def test_a_port_of_a_foreign_container_with_its_name_is_busy(
        self, host, host_inputs, backend, state
    ):
        backend.busy_ports = {2211}
        backend.hosts[CONTAINER] = backend.hosts[CONTAINER].model_copy(update={"environment": None})
        assert "published_ports" in reasons(host.check(host_inputs))
        assert state["started"]

    def test_a_host_of_another_checkout_is_refused_by_name(self, host, host_inputs, backend, state):
        backend.busy_ports = {2211}
        backend.hosts[CONTAINER] = backend.hosts[CONTAINER].model_copy(update={"owner": "f" * 16})
        [failure] = host.check(host_inputs)
        assert failure.property == "name"
        assert failure.reason.startswith(f"container {CONTAINER} belongs to another checkout")
        assert host.read(CONTAINER, state) is None

    def test_a_missing_image_is_found_before_the_update(self, host, host_inputs):
        failures = reasons(host.check({**host_inputs, "image": "localhost/gone:1"}))
        assert failures["image"].startswith("localhost/gone:1 is not on this machine")

    def test_unknown_inputs_are_not_judged_and_the_others_are(self, host, host_inputs, backend):
        backend.busy_ports = {2211}
        news = {**host_inputs, "network": UNKNOWN, "published_ports": UNKNOWN, "cpus": -1}
        assert set(reasons(host.check(news))) == {"cpus"}


class TestDiff:
    def test_nothing_differs_after_a_create(self, host, host_inputs, state):
        assert host.diff(state, host_inputs) == []

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("image", "localhost/warmfleet-host:other"),
            ("private_address", "192.0.2.12"),
            ("cpus", 2),
            ("memory_mb", 2048),
            ("published_ports", {"22": 2299}),
            ("network", UNKNOWN),
        ],
    )
    def test_what_is_fixed_at_creation_replaces(self, host, host_inputs, state, name, value):
        changes = host.diff(state, {**host_inputs, name: value})
        assert changes == [Change(name, "update", replaces=True)]

    def test_a_new_key_updates(self, host, host_inputs, state):
        news = {**host_inputs, "authorized_key": "ssh-ed25519 BBBB other"}
        assert host.diff(state, news) == [Change("authorized_key", "update")]

    def test_a_stopped_host_is_to_be_started(self, host, host_inputs, state):
        changes = host.diff({**state, "started": False}, host_inputs)
        assert changes == [Change("started", "update", is_input=False)]


class TestCreate:
    def test_the_state_holds_inputs_and_what_was_found(self, host_inputs, backend, state):
        assert state == {
            **host_inputs,
            "container_id": "id-1",
            "host_key": "ssh-ed25519 key-of-id-1",
            "started": True,
        }
        assert backend.keys == {CONTAINER: host_inputs["authorized_key"]}

    def test_the_id_is_the_containers_name(self, host, host_inputs):
        assert host.identity(host_inputs) == CONTAINER


class TestRead:
    def test_a_running_host_is_unchanged(self, host, state):
        assert host.read(CONTAINER, state) == state

    def test_a_stopped_host_is_found_stopped(self, host, backend, state):
        backend.set_running(CONTAINER, running=False)
        assert host.read(CONTAINER, state) == {**state, "started": False}

    def test_a_removed_host_is_gone(self, host, backend, state):
        del backend.hosts[CONTAINER]
        assert host.read(CONTAINER, state) is None

    def test_a_foreign_container_with_its_name_is_not_it(self, host, backend, state):
        backend.hosts[CONTAINER] = backend.hosts[CONTAINER].model_copy(update={"environment": None})
        assert host.read(CONTAINER, state) is None

    def test_a_read_that_fails_is_no_proof_of_absence(self, host, backend, state):
        backend.broken = "podman does not answer"
        with pytest.raises(StackError, match="podman does not answer"):
            host.read(CONTAINER, state)

    def test_another_container_in_its_place_is_opened_anew(self, host, host_inputs, backend, state):
        backend.create_host(host._spec(host_inputs))
        found = host.read(CONTAINER, state)
        assert found["container_id"] == "id-2"
        assert found["started"] is False
        assert host.update(found, host_inputs)["host_key"] == "ssh-ed25519 key-of-id-2"

    def test_changed_ports_are_seen(self, host, host_inputs, backend, state):
        backend.hosts[CONTAINER] = backend.hosts[CONTAINER].model_copy(
            update={"published_ports": {22: 2299}}
        )
        found = host.read(CONTAINER, state)
        assert host.diff(found, host_inputs) == [Change("published_ports", "update", replaces=True)]


class TestUpdate:
    def test_a_stopped_host_is_started_and_opened(self, host, host_inputs, backend, state):
        backend.set_running(CONTAINER, running=False)
        backend.calls.clear()
        updated = host.update({**state, "started": False}, host_inputs)
        assert backend.calls == [("start_host", CONTAINER), ("open_host", CONTAINER)]
        assert updated == state

    def test_a_new_key_is_let_in_without_a_restart(self, host, host_inputs, backend, state):
        backend.calls.clear()
        news = {**host_inputs, "authorized_key": "ssh-ed25519 BBBB other"}
        assert host.update(state, news)["authorized_key"] == "ssh-ed25519 BBBB other"
        assert backend.calls == [("open_host", CONTAINER)]

    def test_a_host_that_vanished_is_made_again(self, host, host_inputs, backend, state):
        del backend.hosts[CONTAINER]
        assert host.update(state, host_inputs)["container_id"] == "id-2"


def test_deleting_twice_is_fine(host, backend, state):
    assert state["started"]
    host.delete(CONTAINER)
    host.delete(CONTAINER)
    assert backend.hosts == {}
