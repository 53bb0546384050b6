from collections.abc import Mapping

import pytest

from warmfleet.errors import StackError
from warmfleet.provider.backend import (
    HostSpec,
    HostState,
    NetworkSpec,
    NetworkState,
)

AUTHORIZED_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFakeKeyOfATest warmfleet-test"


class FakeBackend:
    """Networks and hosts in memory; ``calls`` holds what would have changed the world."""

    def __init__(self) -> None:
        self.networks: dict[str, NetworkState] = {}
        self.hosts: dict[str, HostState] = {}
        self.keys: dict[str, str | None] = {}
        self.busy_ports: set[int] = set()
        self.images = {"localhost/warmfleet-host:test"}
        self.broken: str | None = None
        self.calls: list[tuple[str, str]] = []
        self.cancelled = False
        self._made = 0

    def find_network(self, name: str) -> NetworkState | None:
        self._fail_when_broken()
        return self.networks.get(name)

    def create_network(self, spec: NetworkSpec) -> None:
        self._change("create_network", spec.name)
        self.networks[spec.name] = NetworkState(
            name=spec.name,
            subnet=spec.subnet,
            environment=spec.environment,
            owner=spec.owner,
        )

    def remove_network(self, name: str) -> None:
        self._change("remove_network", name)
        self.networks.pop(name, None)

    def image_is_available(self, image: str) -> bool:
        return image in self.images

    def find_host(self, name: str) -> HostState | None:
        self._fail_when_broken()
        return self.hosts.get(name)

    def create_host(self, spec: HostSpec) -> HostState:
        self._change("create_host", spec.name)
        self._made += 1
        self.hosts[spec.name] = HostState(
            name=spec.name,
            container_id=f"id-{self._made}",
            running=True,
            environment=spec.environment,
            owner=spec.owner,
            digest=spec.digest(),
            image=spec.image,
            address=spec.private_address,
            published_ports=spec.published_ports,
        )
        return self.hosts[spec.name]

    def open_host(self, name: str, authorized_key: str | None) -> str:
        self._change("open_host", name)
        self.keys[name] = authorized_key
        return f"ssh-ed25519 key-of-{self.hosts[name].container_id}"

    def start_host(self, name: str) -> None:
        self._change("start_host", name)
        self.set_running(name, running=True)

    def remove_host(self, name: str) -> None:
        self._change("remove_host", name)
        self.hosts.pop(name, None)

    def port_is_free(self, port: int) -> bool:
        return port not in self.busy_ports

    def cancel(self) -> None:
        self.cancelled = True

    def set_running(self, name: str, *, running: bool) -> None:
        self.hosts[name] = self.hosts[name].model_copy(update={"running": running})

    def _change(self, verb: str, name: str) -> None:
        self._fail_when_broken()
        self.calls.append((verb, name))

    def _fail_when_broken(self) -> None:
        if self.broken is not None:
            raise StackError(self.broken)


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend()


@pytest.fixture
def host_inputs() -> Mapping[str, object]:
    return {
        "environment": "test",
        "name": "replica-1",
        "image": "localhost/warmfleet-host:test",
        "network": "warmfleet-test",
        "private_address": "192.0.2.11",
        "cpus": 1.5,
        "memory_mb": 1024,
        "published_ports": {"22": 2211},
        "authorized_key": AUTHORIZED_KEY,
    }


@pytest.fixture
def contract_inputs() -> Mapping[str, object]:
    return {
        "environment": "test",
        "region": "shenzhen",
        "line": "bgp",
        "carriers": ["china-telecom", "china-unicom"],
        "committed_mbps": 100,
        "burst_mbps": 200,
        "reference": None,
    }
