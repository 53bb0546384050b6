"""What the hosts of a fleet let in."""

import json
import re
from typing import Any

import pytest

from tests.e2e.conftest import Fleet

pytestmark = [
    pytest.mark.machine,
    pytest.mark.engine,
    pytest.mark.timeout(900),
    pytest.mark.enable_socket,
]
HOSTS = ["gw-1", "replica-1", "replica-2"]
_ANY = "0.0.0.0"  # noqa: S104 - as ss prints it
_CONNECT = """
import socket, sys
for port in sys.argv[2:]:
    try:
        socket.create_connection((sys.argv[1], int(port)), timeout=2).close()
        print(port, "open")
    except TimeoutError:
        print(port, "dropped")
    except ConnectionRefusedError:
        print(port, "refused")
"""


@pytest.fixture(scope="module")
def hostvars(fleet: Fleet, first_up: Any) -> dict[str, Any]:
    assert first_up

    def plain(value: dict[str, Any]) -> Any:
        return value.get("__ansible_unsafe", value)  # how Ansible marks text of a plugin

    listed = json.loads(fleet.run("ansible-inventory", "--list").stdout, object_hook=plain)
    return dict(listed["_meta"]["hostvars"])


@pytest.mark.parametrize("host", HOSTS)
def test_nothing_listens_that_is_not_declared(
    fleet: Fleet, hostvars: dict[str, Any], host: str
) -> None:
    gateway = hostvars["gw-1"]
    expected = {(_ANY, 22, "root"), ("[::]", 22, "root")}
    if host == "gw-1":
        expected |= {
            (_ANY, gateway["edge_proxy_listen_port"], "www-data"),
            ("127.0.0.1", gateway["edge_proxy_admin_port"], "www-data"),
        }
    for replica in gateway["edge_proxy_replicas"]:
        if replica["name"] == host:
            expected |= {
                (replica["address"], replica[port], "warmfleet") for port in ("port", "admin_port")
            }
    found = set()
    # By user and not by program: in a container root may not look into processes of others.
    for line in fleet.inside(host, "ss", "-Hltnue").splitlines():
        protocol, _, _, _, local, *_ = line.split()
        assert protocol == "tcp", line
        address, _, port = local.rpartition(":")
        owner = re.search(r"uid:(\d+)", line)
        user = fleet.inside(host, "id", "-nu", owner[1]).strip() if owner else "root"
        found.add((address, int(port), user))
    assert found == expected
    let_in = {port["port"] for port in hostvars[host]["host_baseline_ports"]}
    assert let_in == {port for address, port, _ in found if address != "127.0.0.1"}


def test_a_replica_is_open_to_the_gateway_and_closed_to_its_neighbour(
    fleet: Fleet, hostvars: dict[str, Any]
) -> None:
    replicas = {replica["name"]: replica for replica in hostvars["gw-1"]["edge_proxy_replicas"]}
    target = replicas["replica-2"]
    ports = [str(target["port"]), str(target["admin_port"])]

    def tried(host: str, *ports: str) -> list[str]:
        command = ("python3", "-c", _CONNECT, target["address"], *ports)
        return fleet.inside(host, *command).splitlines()

    assert tried("gw-1", *ports, "8100") == [*(f"{port} open" for port in ports), "8100 dropped"]
    assert tried("replica-1", *ports, "22") == [*(f"{port} dropped" for port in ports), "22 open"]
