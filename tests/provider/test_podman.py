import os
import re
import shutil
import socket
import subprocess
from itertools import pairwise

import pytest

from warmfleet.errors import PermissionNeededError, StackError, ToolMissingError
from warmfleet.provider import machines
from warmfleet.provider.backend import HostSpec, NetworkSpec
from warmfleet.provider.image import image_tag
from warmfleet.provider.podman import Podman, _run_arguments

ENVIRONMENT = "t-podman"
NETWORK = "warmfleet-t-podman"
SUBNET = "10.89.93.0/24"


def spec(**changes) -> HostSpec:
    values = {
        "name": "warmfleet-t-podman-a",
        "hostname": "a",
        "environment": ENVIRONMENT,
        "image": image_tag(),
        "network": NETWORK,
        "private_address": "10.89.93.11",
        "cpus": 1.0,
        "memory_mb": 256,
        "published_ports": {22: 23931},
    }
    return HostSpec.model_validate(values | changes)


class TestFlags:
    def test_ports_are_published_on_loopback_only(self):
        arguments = _run_arguments(spec(published_ports={443: 8443, 22: 2210}))
        published = [b for a, b in pairwise(arguments) if a == "--publish"]
        assert published == ["127.0.0.1:2210:22", "127.0.0.1:8443:443"]

    def test_a_host_is_not_privileged_unless_asked(self):
        assert "--privileged" not in _run_arguments(spec())
        assert "--privileged" in _run_arguments(spec(privileged=True))

    def test_a_host_keeps_one_mac_address_of_its_own(self):
        def mac(**changes):
            arguments = _run_arguments(spec(**changes))
            return arguments[arguments.index("--mac-address") + 1]

        assert mac() == mac(memory_mb=512)
        assert mac() != mac(name="warmfleet-t-podman-b")
        assert mac() != mac(owner="0123456789abcdef")
        assert int(mac().split(":")[0], 16) & 0b11 == 0b10  # local, unicast

    def test_a_changed_limit_changes_the_digest(self):
        assert spec().digest() == spec().digest()
        assert spec().digest() != spec(memory_mb=512).digest()

    def test_digest_does_not_depend_on_the_order_of_ports(self) -> None:
        one, other = {22: 2210, 443: 8443}, {443: 8443, 22: 2210}
        assert spec(published_ports=one).digest() == spec(published_ports=other).digest()


class TestNeeds:
    def test_podman_missing(self, monkeypatch):
        monkeypatch.setenv("PATH", "/nonexistent")
        with pytest.raises(ToolMissingError, match="podman is not on PATH"):
            Podman().find_host("x")

    def test_root_missing(self, monkeypatch, tmp_path):
        (tmp_path / "podman").write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / "podman").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        with pytest.raises(PermissionNeededError, match="lab hosts need root, and this is user"):
            Podman().find_host("x")

    def test_trouble_of_podman_is_no_proof_of_absence(self, monkeypatch, tmp_path):
        (tmp_path / "podman").write_text("#!/bin/sh\necho 'Error: no storage' >&2\nexit 125\n")
        (tmp_path / "podman").chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        with pytest.raises(StackError, match="podman could not look for container x: no storage"):
            Podman().find_host("x")


def test_a_port_with_a_listener_is_not_free():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        assert not Podman().port_is_free(port)
    assert Podman().port_is_free(port)


@pytest.mark.parametrize("text", ["0.0.0.0:2222:22", "2222:22", "127.0.0.1:2222", "127.0.0.1:a:22"])
def test_the_command_publishes_on_loopback_only(text, capsys):
    with pytest.raises(SystemExit):
        machines.main(["create", "a", "--publish", text])
    assert "is not 127.0.0.1:PORT:HOST_PORT" in capsys.readouterr().err


@pytest.fixture
def podman():
    found = Podman()
    found.remove_network(NETWORK)  # with hosts that an earlier, killed run left
    found.create_network(NetworkSpec(name=NETWORK, environment=ENVIRONMENT, subnet=SUBNET))
    yield found
    found.remove_network(NETWORK)


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key"
    subprocess.run(
        [shutil.which("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", path], check=True
    )
    return path


def ssh(key, host_key, tmp_path, command) -> str:
    known_hosts = tmp_path / "known_hosts"
    known_hosts.write_text(f"[127.0.0.1]:23931 {host_key}\n")
    options = [f"UserKnownHostsFile={known_hosts}", "StrictHostKeyChecking=yes", "BatchMode=yes"]
    argv = ["ssh", "-p", "23931", "-i", str(key), *[f"-o{o}" for o in options], "root@127.0.0.1"]
    return subprocess.run(
        [*argv, command], check=True, capture_output=True, text=True, timeout=30
    ).stdout.strip()


@pytest.mark.machine
@pytest.mark.allow_hosts(["127.0.0.1", SUBNET])
class TestHosts:
    def test_a_host_from_create_to_remove(self, podman, key, tmp_path):
        made = podman.create_host(spec())
        public_key = key.with_suffix(".pub").read_text()
        host_key = podman.open_host(made.name, public_key)

        assert re.fullmatch(r"ssh-ed25519 [A-Za-z0-9+/]+=*", host_key)
        assert ssh(key, host_key, tmp_path, "systemctl is-system-running") == "running"
        assert ssh(key, host_key, tmp_path, "hostname; cat /root/.ssh/authorized_keys").split(
            "\n"
        ) == ["a", public_key.strip()]
        assert made.published_ports == {22: 23931}
        assert made.address == "10.89.93.11"
        assert not podman.port_is_free(23931)
        listening = subprocess.run(
            ["ss", "-Hltn", "sport = :23931"], check=True, capture_output=True, text=True
        ).stdout.split()
        assert listening[3] == "127.0.0.1:23931"

        # Again: the same container, the same host key.
        again = podman.create_host(spec())
        assert again.container_id == made.container_id
        assert podman.open_host(made.name, public_key) == host_key

        # Stopped: found so, and started with the same identity.
        subprocess.run(["podman", "stop", "--time", "2", made.name], check=True)
        assert not podman.find_host(made.name).running
        podman.start_host(made.name)
        assert podman.open_host(made.name, public_key) == host_key

        # Of another checkout: refused, and untouched.
        with pytest.raises(StackError, match="belongs to environment 't-podman' of another che"):
            podman.create_host(spec(owner="0123456789abcdef"))
        assert podman.find_host(made.name).container_id == made.container_id

        # Another limit: another container.
        replaced = podman.create_host(spec(memory_mb=320))
        assert replaced.container_id != made.container_id
        assert podman.open_host(made.name, public_key) != host_key

        podman.remove_host(made.name)
        podman.remove_host(made.name)
        assert podman.find_host(made.name) is None

    def test_removing_the_network_takes_its_strays_along(self, podman):
        podman.create_host(spec())
        podman.remove_network(NETWORK)
        assert podman.find_host(spec().name) is None
        assert podman.find_network(NETWORK) is None

    def test_what_is_not_ours_is_left_alone(self, podman):
        subprocess.run(["podman", "create", "--name", spec().name, image_tag()], check=True)
        try:
            for action in (
                lambda: podman.create_host(spec()),
                lambda: podman.remove_host(spec().name),
            ):
                with pytest.raises(StackError, match="is there already and not made by warmfleet"):
                    action()
            assert podman.find_host(spec().name).environment is None
        finally:
            subprocess.run(["podman", "rm", "--force", spec().name], check=True)

    def test_a_host_that_cannot_start_leaves_nothing(self, podman):
        with (
            socket.create_server(("127.0.0.1", 23931)),
            pytest.raises(StackError, match="podman could not start warmfleet-t-podman-a: "),
        ):
            podman.create_host(spec())
        assert podman.find_host(spec().name) is None

    def test_the_command_makes_and_removes_hosts(self, podman, key):
        names = ["t-podman-x", "t-podman-y"]
        create = ["create", *names, "--network", NETWORK, "--authorized-key", f"{key}.pub"]
        assert machines.main(create) == 0
        assert machines.main(create) == 0
        assert all(podman.find_host(name).running for name in names)
        assert machines.main(["remove", *names]) == 0
        assert [podman.find_host(name) for name in names] == [None, None]
