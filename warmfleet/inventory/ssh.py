"""SSH as every part of the control side uses it: the environment's key, pinned host keys."""

import shlex
import tempfile
from pathlib import Path

from warmfleet.inventory.models import Connection
from warmfleet.stack.credentials import Credentials
from warmfleet.stack.outputs import FleetOutput, HostOutput

__all__ = ["connection", "ssh_command", "write_known_hosts"]

_SSH_PORT = 22
_CONNECT_S = 8
# A host that says nothing for a minute is gone.
_ALIVE_INTERVAL_S = 15
_ALIVE_COUNT = 4
_OPTIONS = {
    "StrictHostKeyChecking": "yes",
    "GlobalKnownHostsFile": "/dev/null",
    "HostKeyAlgorithms": "ssh-ed25519",
    "IdentitiesOnly": "yes",
    "PasswordAuthentication": "no",
    "ServerAliveInterval": str(_ALIVE_INTERVAL_S),
    "ServerAliveCountMax": str(_ALIVE_COUNT),
}


def connection(host: HostOutput, credentials: Credentials) -> Connection:
    """Return Ansible's connection variables for a host."""
    return Connection(
        ansible_host=host.ssh.address,
        ansible_port=host.ssh.port,
        ansible_user=host.ssh.user,
        ansible_become=host.ssh.user != "root",
        ansible_ssh_private_key_file=str(credentials.ssh_private_key_file),
        ansible_ssh_common_args=shlex.join(_arguments(credentials)),
        mitogen_ssh_keepalive_interval=_ALIVE_INTERVAL_S,
        mitogen_ssh_keepalive_count=_ALIVE_COUNT,
    )


def ssh_command(host: HostOutput, credentials: Credentials) -> list[str]:
    """Return the call of ``ssh`` that reaches a host; what follows it is the host's command."""
    ssh = host.ssh
    return [
        "ssh",
        *_arguments(credentials),
        *("-o", f"ConnectTimeout={_CONNECT_S}"),
        *("-i", str(credentials.ssh_private_key_file), "-p", str(ssh.port), "-l", ssh.user),
        ssh.address,
    ]


def write_known_hosts(fleet: FleetOutput, credentials: Credentials) -> None:
    """Write the pinned key of every host, and of no other host, where ssh looks for them."""
    path = credentials.known_hosts_file
    text = "".join(
        f"{_address(host.ssh.address, host.ssh.port)} {host.ssh.host_key}\n" for host in fleet.hosts
    )
    if path.is_file() and path.read_text() == text:
        return
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.parent, prefix=".known_hosts-", delete=False
    ) as draft:
        draft.write(text)
    Path(draft.name).replace(path)


def _arguments(credentials: Credentials) -> list[str]:
    options = {"UserKnownHostsFile": _ssh_path(credentials.known_hosts_file), **_OPTIONS}
    return [part for name, value in options.items() for part in ("-o", f"{name}={value}")]


def _address(address: str, port: int) -> str:
    return address if port == _SSH_PORT else f"[{address}]:{port}"


def _ssh_path(path: Path) -> str:
    """Quote for ssh's own reading of option values: spaces part, and % starts a token."""
    return '"' + str(path).replace("%", "%%") + '"'
