"""How to get onto a host: the system's ssh with what the stack knows."""

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from warmfleet.inventory.ssh import ssh_command
from warmfleet.operate.target import Target

__all__ = ["ShellCall", "shell_call"]


class ShellCall(BaseModel):
    """What `warmfleet ssh --json` prints: for rsync, scp and the like."""

    model_config = ConfigDict(frozen=True)

    environment: str
    host: str
    address: str
    port: int
    user: str
    key_file: str
    known_hosts_file: str
    argv: list[str]


def shell_call(target: Target, command: Sequence[str]) -> ShellCall:
    """Return the call of ssh; ``command`` goes to the host's shell, as with ssh itself."""
    ssh = target.host.ssh
    call = ssh_command(target.host, target.credentials)
    return ShellCall(
        environment=target.environment,
        host=target.host.name,
        address=ssh.address,
        port=ssh.port,
        user=ssh.user,
        key_file=str(target.credentials.ssh_private_key_file),
        known_hosts_file=str(target.credentials.known_hosts_file),
        argv=[*call, "--", *command] if command else call,
    )
