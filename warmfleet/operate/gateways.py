"""The gateways of a site, to an operator: what they send where, and which hosts are taken out."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from warmfleet.errors import HostUnreachableError, OperationError
from warmfleet.operate.remote import run_remote
from warmfleet.operate.target import Target
from warmfleet.stack.outputs import HostOutput
from warmfleet.telemetry.balancing import BalancedReplica, read_balancing
from warmfleet.telemetry.tunnel import Tunnel

__all__ = ["DRAINED_FILE", "Gateways"]

DRAINED_FILE = "/var/lib/warmfleet/drained.json"
"""On every gateway: names of hosts that get no traffic, each with a note. No role touches it."""

_COMMAND_LIMIT_S = 20.0
_POLL_S = 0.2
# The file's name is the script's $0. Whole or not at all, and on the disk: it outlives a power cut.
_READ = 'if test -e "$0"; then cat "$0"; fi'
_WRITE = (
    'umask 022 && mkdir -p "$(dirname "$0")" && cat > "$0.new" && sync "$0.new" && mv "$0.new" "$0"'
)


@dataclass(frozen=True)
class Gateways:
    """Open connections to all gateways of one site; a context from ``Gateways.open``."""

    target: Target
    _open: list[tuple[HostOutput, Tunnel]]

    @classmethod
    @contextmanager
    def open(cls, target: Target) -> Iterator["Gateways"]:
        """Connect to every gateway.

        Raises:
            HostUnreachableError: one does not answer: it would not hear of a drain.
        """
        with ExitStack() as stack:
            yield cls(
                target,
                [
                    (host, stack.enter_context(Tunnel.open(host, target.credentials)))
                    for host in target.gateways
                ],
            )

    @property
    def first(self) -> tuple[HostOutput, Tunnel]:
        """The one that holds the operators' lock."""
        return self._open[0]

    def drained(self) -> tuple[dict[str, Any], bool]:
        """Return the hosts that any gateway has taken out, each with its note; and whether all did.

        Raises:
            OperationError: a file cannot be read, or is damaged.
        """
        found = [self._read(host, tunnel) for host, tunnel in self._open]
        hosts = {name: note for one in found for name, note in one.items()}
        return hosts, all(one.keys() == hosts.keys() for one in found)

    def take_out(self, hosts: dict[str, Any]) -> None:
        """Make these, and no others, the hosts that get no traffic.

        Raises:
            OperationError: a file could not be written.
        """
        text = json.dumps(hosts, indent=1, sort_keys=True) + "\n"
        for host, tunnel in self._open:
            command = ["sh", "-c", _WRITE, DRAINED_FILE]
            done = run_remote(tunnel, host, command, stdin=text, limit_s=_COMMAND_LIMIT_S)
            if done.status:
                raise _failed(host, "written", done.stdout)

    def balancing(self) -> list[tuple[str, list[BalancedReplica]]]:
        """Return, for each gateway by name, what it knows of the site's replicas.

        Raises:
            OperationError: its proxy does not say.
        """
        try:
            return [(host.name, read_balancing(tunnel)) for host, tunnel in self._open]
        except HostUnreachableError as error:
            environment = self.target.environment
            msg = (
                f"{error}; needed: nginx running there, as this version configures it; "
                f"run `warmfleet converge {environment}`"
            )
            raise OperationError(msg) from error

    def of_host(self) -> list[BalancedReplica]:
        """Return what every gateway knows of the target's own replicas."""
        name = self.target.host.name
        return [one for _, replicas in self.balancing() for one in replicas if one.name == name]

    def wait(
        self,
        holds: Callable[[list[BalancedReplica]], bool],
        *,
        limit_s: float,
        on_look: Callable[[list[BalancedReplica]], None] | None = None,
    ) -> bool:
        """Look at the target's replicas until ``holds``; False when it did not in time."""
        deadline = time.monotonic() + limit_s
        while True:
            replicas = self.of_host()
            if holds(replicas):
                return True
            if on_look is not None:
                on_look(replicas)
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)

    def _read(self, host: HostOutput, tunnel: Tunnel) -> dict[str, Any]:
        command = ["sh", "-c", _READ, DRAINED_FILE]
        done = run_remote(tunnel, host, command, limit_s=_COMMAND_LIMIT_S)
        if done.status:
            raise _failed(host, "read", done.stdout)
        try:
            hosts = json.loads(done.stdout or "{}")
        except ValueError as error:
            raise self._damaged(host, str(error)) from error
        if not isinstance(hosts, dict):
            raise self._damaged(host, f"a {type(hosts).__name__}")
        return hosts

    def _damaged(self, host: HostOutput, found: str) -> OperationError:
        return OperationError(
            f"{DRAINED_FILE} on {host.name} is no JSON object ({found}); needed: names of hosts as "
            f"keys; mend or remove it: warmfleet ssh {self.target.environment} {host.name}"
        )


def _failed(host: HostOutput, what: str, said: str) -> OperationError:
    lines = said.strip().splitlines()
    cause = lines[-1] if lines else "no reason given"
    return OperationError(f"{DRAINED_FILE} on {host.name} could not be {what}: {cause}")
