"""SSH that misbehaves: one line in bounded time, on each of the two ways to a host."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.converge.conftest import Bench
from tests.faults.ssh_server import WAYS, Misbehaving
from tests.telemetry.conftest import SshHost
from warmfleet.errors import HostUnreachableError
from warmfleet.inventory.ssh import connection
from warmfleet.stack.credentials import Credentials
from warmfleet.stack.outputs import HostOutput, HostRole, SshOutput
from warmfleet.telemetry import tunnel
from warmfleet.telemetry.tunnel import Tunnel

NO_ANSWER = "it gave no SSH answer within 0.5 s, or closed the connection"
OTHER_KEY = "another host key than the one that is pinned in the stack"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def credentials(bench: Bench) -> Credentials:
    return Credentials.ensure(bench.project, "lab", ["127.0.0.1"], {})


@pytest.fixture
def stranger(credentials: Credentials) -> Iterator[SshHost]:
    """A real SSH server that would let us in, with a key that nobody has pinned."""
    server = SshHost(credentials.ssh_public_key, {})
    yield server
    server.close()


def host(port: int, credentials: Credentials) -> HostOutput:
    # Any key that is not the server's: it is pinned, and never shown.
    key = " ".join(credentials.ssh_public_key.split()[:2])
    return HostOutput(
        name="far",
        role=HostRole.REPLICA,
        ssh=SshOutput(address="127.0.0.1", port=port, user="ops", host_key=key),
        private_address="192.0.2.11",
    )


class TestTunnel:
    @pytest.mark.parametrize(
        ("way", "cause"),
        [
            ("hangs", NO_ANSWER),
            ("closes early", NO_ANSWER),
            ("floods its banner", "what answers there does not speak SSH"),
            ("floods without lines", NO_ANSWER),
            ("stops after hello", NO_ANSWER),
        ],
    )
    def test_a_host_that_does_not_speak_is_given_up(
        self, credentials: Credentials, monkeypatch: pytest.MonkeyPatch, way: str, cause: str
    ) -> None:
        monkeypatch.setattr(tunnel, "TIMEOUT_S", 0.5)
        began = time.monotonic()
        with (
            Misbehaving(way) as server,
            pytest.raises(HostUnreachableError) as caught,
            Tunnel.open(host(server.port, credentials), credentials),
        ):
            pass
        assert time.monotonic() - began < 10
        assert str(caught.value) == (
            f"host far (ops@127.0.0.1:{server.port}) is not reachable: {cause}; "
            "check the host and its sshd"
        )

    def test_every_way_is_tried(self) -> None:
        cases = TestTunnel.test_a_host_that_does_not_speak_is_given_up.pytestmark[0].args[1]
        assert [way for way, _ in cases] == list(WAYS)

    def test_a_new_host_key_is_never_accepted(
        self, credentials: Credentials, stranger: SshHost
    ) -> None:
        with (
            pytest.raises(HostUnreachableError) as caught,
            Tunnel.open(host(stranger.port, credentials), credentials),
        ):
            pass
        assert f"(ops@127.0.0.1:{stranger.port}) is not reachable: it shows {OTHER_KEY}; if" in str(
            caught.value
        )


@pytest.mark.machine
@pytest.mark.enable_socket
class TestAnsible:
    @pytest.fixture(autouse=True)
    def impatient(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Shorten the time-outs, which are 15 s and three tries otherwise."""
        monkeypatch.setenv("ANSIBLE_TIMEOUT", "2")
        monkeypatch.setenv("ANSIBLE_SSH_RETRIES", "0")

    def ask(self, bench: Any, credentials: Credentials, port: int) -> str:
        far = host(port, credentials)
        site = bench.composed.fleet.sites[0].model_copy(update={"hosts": [far]})
        fleet = bench.composed.fleet.model_copy(update={"sites": [site]})
        variables = bench.composed.inventory["_meta"]["hostvars"]
        variables["far"] = connection(far, credentials).model_dump()
        object.__setattr__(bench.composed, "fleet", fleet)
        credentials.known_hosts_file.write_text(f"[127.0.0.1]:{port} {far.ssh.host_key}\n")
        with pytest.raises(HostUnreachableError) as caught:
            bench.play("- name: Ask\n  ansible.builtin.ping:\n", "far")
        message = str(caught.value)
        assert message.startswith(f"host far (ops@127.0.0.1:{port}) is not reachable: ")
        assert message.endswith("run warmfleet up lab, which refreshes the stack")
        assert "\n" not in message
        return message

    @pytest.mark.parametrize(
        ("way", "cause"),
        [
            ("hangs", "timed out"),
            # Reset, when our hello was not read before the close.
            ("closes early", "closed by|reset by"),
            ("floods without lines", "banner line too long"),
        ],
    )
    def test_a_host_that_does_not_speak_is_given_up(
        self, bench: Bench, credentials: Credentials, way: str, cause: str
    ) -> None:
        began = time.monotonic()
        with Misbehaving(way) as server:
            assert re.search(cause, self.ask(bench, credentials, server.port))
        assert time.monotonic() - began < 60

    def test_a_new_host_key_is_never_accepted(
        self, bench: Bench, credentials: Credentials, stranger: SshHost
    ) -> None:
        assert OTHER_KEY in self.ask(bench, credentials, stranger.port)
        assert stranger.host_key not in credentials.known_hosts_file.read_text()
