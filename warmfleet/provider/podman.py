"""Hosts as systemd containers: the real backend, and a small command for test machines.

Every flag that podman gets stands here. ``python -m warmfleet.provider.podman create NAME...``
makes plain hosts of the same kind outside any stack; ``remove NAME...`` ends them.
"""

import hashlib
import json
import logging
import os
import resource
import shutil
import socket
import sys
import threading
import time
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from warmfleet.errors import PermissionNeededError, StackError, ToolMissingError
from warmfleet.provider.backend import (
    ENVIRONMENT_LABEL,
    OWNER_LABEL,
    HostSpec,
    HostState,
    NetworkSpec,
    NetworkState,
    environment_of,
)
from warmfleet.provider.image import ensure_image, image_tag
from warmfleet.provider.killed_start import clear_killed_start
from warmfleet.provider.process import Finished, last_line, run_program

__all__ = ["Podman"]

_log = logging.getLogger(__name__)

_CONFIGURATION = Path(__file__).with_name("containers.conf")
_DIGEST_LABEL = "warmfleet.digest"
_UNSTARTED = frozenset({"created", "initialized"})
"""Status of a container until its first start is done."""
_HALF_REMOVED = "container not known"
"""What podman says of a container whose storage is gone: it was killed while it removed it."""
_CLEARINGS = 2
"""Tries after what a killed start left: one thing may have hidden another."""
_COMMAND_LIMIT_S = 60
_RUN_LIMIT_S = 120
_UP_LIMIT_S = 120
_STOP_LIMIT_S = 3
_POLL_S = 0.25
_WHOLE = frozenset({"run", "start", "rm", "network"})
_OPEN_FILES = 20_000
_PROCESSES = 32_768

# Run inside the host by sh, with the authorized key (or nothing) on stdin. Host keys are made here
# and not in the image: hosts of one image must not share them.
_OPEN = """
set -eu
umask 077
key=$(cat)
if [ -n "$key" ]; then mkdir -p /root/.ssh && printf '%s\\n' "$key" > /root/.ssh/authorized_keys; fi
host_key=/etc/ssh/ssh_host_ed25519_key
test -s $host_key || ssh-keygen -q -t ed25519 -N '' -f $host_key
if ! systemctl is-active --quiet ssh; then systemctl reset-failed ssh; systemctl start ssh; fi
cat $host_key.pub
"""


class Podman:
    """Containers and networks of this machine."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()

    def find_network(self, name: str) -> NetworkState | None:
        """Return the network, None only when podman says that there is none."""
        if not self._exists("network", name):
            return None
        [found] = json.loads(self._run("network", "inspect", name, about=f"inspect network {name}"))
        subnets = found.get("subnets") or [{}]
        return NetworkState(
            name=name,
            subnet=subnets[0].get("subnet", ""),
            environment=environment_of(found.get("labels")),
            owner=(found.get("labels") or {}).get(OWNER_LABEL, ""),
        )

    def create_network(self, spec: NetworkSpec) -> None:
        """Make the network; one that is ours and the same is kept, a different one replaced."""
        found = self.find_network(spec.name)
        if found is not None:
            _refuse_foreign("network", spec, found)
            if found.subnet == spec.subnet:
                return
            self.remove_network(spec.name)
        self._run(
            # Hosts know each other by address. A name server would be one more thing that listens,
            # and a killed podman leaves entries in it that keep it running for ever.
            *("network", "create", "--driver", "bridge", "--disable-dns", "--subnet", spec.subnet),
            *("--label", f"{ENVIRONMENT_LABEL}={spec.environment}"),
            *("--label", f"{OWNER_LABEL}={spec.owner}"),
            spec.name,
            about=f"make network {spec.name} {spec.subnet}",
        )

    def remove_network(self, name: str) -> None:
        """Remove the network; absent is fine, one that is not ours is refused.

        Hosts of ours that are still in it go too: a run that was killed made them and did not
        write them down.
        """
        found = self.find_network(name)
        if found is None:
            return
        _refuse_unmarked("network", found)
        for stray in self._hosts_in(name):
            self.remove_host(stray)
        self._run("network", "rm", name, about=f"remove network {name}")

    def find_host(self, name: str) -> HostState | None:
        """Return the host, None only when podman says that there is none."""
        if not self._exists("container", name):
            return None
        answer = self._podman("container", "inspect", name)
        if answer.status and _HALF_REMOVED in answer.stderr:
            self._run("rm", "--force", name, about=f"end the removal of {name}")
            return None
        if answer.status:
            raise _failure(f"inspect {name}", answer)
        [found] = json.loads(answer.stdout)
        labels = found["Config"].get("Labels") or {}
        networks = found["NetworkSettings"].get("Networks") or {}
        addresses = [network.get("IPAddress") for network in networks.values()]
        return HostState(
            name=name,
            container_id=found["Id"],
            running=bool(found["State"]["Running"]),
            never_started=found["State"]["Status"] in _UNSTARTED,
            environment=environment_of(labels),
            owner=labels.get(OWNER_LABEL, ""),
            digest=labels.get(_DIGEST_LABEL),
            image=found["ImageName"],
            address=next((address for address in addresses if address), None),
            published_ports=_published(found["HostConfig"].get("PortBindings") or {}),
        )

    def create_host(self, spec: HostSpec) -> HostState:
        """Make and start the host; the same one of ours is kept, a different one replaced."""
        found = self.find_host(spec.name)
        if found is not None:
            _refuse_foreign("container", spec, found)
            if found.digest == spec.digest() and not found.never_started:
                if not found.running:
                    self.start_host(spec.name)
                return self._found_host(spec.name)
            self.remove_host(spec.name)
        else:
            # Storage that no container has yet: podman was killed while it made one of this name.
            self._podman("rm", "--force", "--ignore", spec.name)
        if not self._exists("image", spec.image) and spec.image == image_tag():
            ensure_image(_log.info)
        try:
            self._start(spec.name, *_run_arguments(spec))
        except StackError:
            # podman keeps a container that it made but could not start (a busy port, say).
            self.remove_host(spec.name)
            raise
        return self._found_host(spec.name)

    def open_host(self, name: str, authorized_key: str | None) -> str:
        """Wait until systemd and sshd are up, let the key in, return the host's public key.

        Raises:
            StackError: the host is not up within its time limit.
        """
        deadline = time.monotonic() + _UP_LIMIT_S
        self._wait_for_systemd(name, deadline)
        command = ["exec", "--interactive", name, "sh", "-c", _OPEN]
        printed = self._run(*command, about=f"open {name} for SSH", stdin=authorized_key or "")
        self._wait_for_sshd(name, deadline)
        return " ".join(last_line(printed).split()[:2])

    def start_host(self, name: str) -> None:
        """Start a stopped host."""
        self._start(name, "start", name)

    def remove_host(self, name: str) -> None:
        """Stop and remove the host with all it holds; absent is fine, one not ours is refused."""
        found = self.find_host(name)
        if found is None:
            return
        _refuse_unmarked("container", found)
        if found.never_started:
            # Perhaps it was killed in that: podman takes down only what it knows to be up.
            with suppress(StackError):
                self.start_host(name)
        self._run(
            *("rm", "--force", "--volumes", "--time", str(_STOP_LIMIT_S), name),
            about=f"remove {name}",
            limit_s=_RUN_LIMIT_S,
        )

    def port_is_free(self, port: int) -> bool:
        """Tell whether a listener could take ``port`` on 127.0.0.1 now."""
        with socket.socket() as probe:
            # As servers do, so that connections that linger after a close do not count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return False
        return True

    def image_is_available(self, image: str) -> bool:
        """Tell whether the image is on this machine, or can be built here."""
        return image == image_tag() or self._exists("image", image)

    def cancel(self) -> None:
        """Make the running calls, and all later ones, fail soon."""
        self._cancelled.set()

    def _start(self, name: str, *arguments: str) -> None:
        answer = self._podman(*arguments, limit_s=_RUN_LIMIT_S)
        for _ in range(_CLEARINGS):
            if not answer.status or not self._is_cleared(name, answer.stderr):
                break
            answer = self._podman("start", name, limit_s=_RUN_LIMIT_S)
        if answer.status:
            raise _failure(f"start {name}", answer)

    def _is_cleared(self, name: str, printed: str) -> bool:
        return clear_killed_start(name, printed, self._podman, self._as_root)

    def _hosts_in(self, network: str) -> list[str]:
        filters = ["--filter", f"network={network}", "--filter", f"label={ENVIRONMENT_LABEL}"]
        listed = self._run(
            *("ps", "--all", "--format", "{{.Names}}", *filters), about=f"list hosts of {network}"
        )
        return listed.split()

    def _found_host(self, name: str) -> HostState:
        found = self.find_host(name)
        if found is None:
            msg = f"container {name} vanished right after it was made; look at `podman events`"
            raise StackError(msg)
        return found

    def _wait_for_systemd(self, name: str, deadline: float) -> None:
        state = "no answer"
        while state not in {"running", "degraded"}:
            self._pause_until(deadline, f"systemd in {name} is not up (last state: {state})")
            answer = self._podman("exec", name, "systemctl", "is-system-running")
            state = last_line(answer.stdout or answer.stderr)
            if not answer.stdout and not self._found_host(name).running:
                msg = f"{name} stopped while it started; look at `podman logs {name}`"
                raise StackError(msg)

    def _wait_for_sshd(self, name: str, deadline: float) -> None:
        address = self._found_host(name).address
        if address is None:
            msg = f"{name} has no network address; it needs a bridge network for SSH"
            raise StackError(msg)
        while not _greets(address):
            self._pause_until(deadline, f"sshd of {name} does not answer on {address}:22")

    def _pause_until(self, deadline: float, complaint: str) -> None:
        if time.monotonic() > deadline:
            msg = f"{complaint} after {_UP_LIMIT_S} s; look at `podman exec NAME journalctl -b`"
            raise StackError(msg)
        if self._cancelled.wait(_POLL_S):
            msg = f"cancelled; {complaint}"
            raise StackError(msg)

    def _exists(self, kind: str, name: str) -> bool:
        answer = self._podman(kind, "exists", name)
        if answer.status in {0, 1}:
            return answer.status == 0
        # Any other status is podman's own trouble: no proof of absence.
        raise _failure(f"look for {kind} {name}", answer)

    def _run(
        self, *arguments: str, about: str, stdin: str = "", limit_s: float = _COMMAND_LIMIT_S
    ) -> str:
        answer = self._podman(*arguments, stdin=stdin, limit_s=limit_s)
        if answer.status:
            raise _failure(about, answer)
        return answer.stdout

    def _podman(
        self, *arguments: str, stdin: str = "", limit_s: float = _COMMAND_LIMIT_S
    ) -> Finished:
        return run_program(
            [*self._program, *arguments],
            timeout_s=limit_s,
            stdin=stdin,
            cancelled=self._cancelled,
            # A `podman run` that is cut off leaves an address or a bridge taken for good.
            whole=arguments[0] in _WHOLE,
        )

    def _as_root(self, *command: str) -> str:
        return run_program([*self._root, *command], timeout_s=_COMMAND_LIMIT_S).stdout

    @property
    def _root(self) -> list[str]:
        return [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]

    @cached_property
    def _program(self) -> list[str]:
        if shutil.which("podman") is None:
            msg = "podman is not on PATH; lab hosts need it: apt-get install podman (make tools)"
            raise ToolMissingError(msg)
        program = [*self._root, "env", f"CONTAINERS_CONF={_CONFIGURATION}", "podman"]
        if self._root and (
            shutil.which("sudo") is None
            or run_program([*program, "--version"], timeout_s=_COMMAND_LIMIT_S).status
        ):
            msg = (
                f"lab hosts need root, and this is user {os.geteuid()} without passwordless sudo; "
                "run as root, or run `sudo -v` first"
            )
            raise PermissionNeededError(msg)
        return program


def _run_arguments(spec: HostSpec) -> list[str]:
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _OPEN_FILES if hard_limit == resource.RLIM_INFINITY else min(hard_limit, _OPEN_FILES)
    arguments = ["run", "--detach", "--pull", "never", "--systemd", "always"]
    arguments += ["--name", spec.name, "--hostname", spec.hostname]
    arguments += ["--label", f"{ENVIRONMENT_LABEL}={spec.environment}"]
    arguments += ["--label", f"{OWNER_LABEL}={spec.owner}"]
    arguments += ["--label", f"{_DIGEST_LABEL}={spec.digest()}"]
    # Both must be said: the defaults lie above what the machine may grant, and runc then refuses.
    arguments += ["--ulimit", f"nofile={files}:{files}", "--ulimit", f"nproc={_PROCESSES}"]
    if spec.privileged:
        arguments.append("--privileged")
    else:
        arguments += ["--cap-add", "SYS_ADMIN,NET_ADMIN"]
        arguments += ["--security-opt", "seccomp=unconfined"]
        arguments += ["--security-opt", "apparmor=unconfined"]
    if spec.network is not None:
        arguments += ["--network", spec.network]
    if spec.private_address is not None:
        arguments += ["--ip", spec.private_address]
        # A server keeps its MAC address over a reboot. A new one at each start would leave the
        # other hosts with a stale neighbour entry, and the host unreachable for half a minute.
        arguments += ["--mac-address", _mac_address(spec)]
    if spec.cpus is not None:
        arguments += ["--cpus", f"{spec.cpus:g}"]
    if spec.memory_mb is not None:
        # Swap counts too: a lab host must run out of memory where a server would.
        arguments += ["--memory", f"{spec.memory_mb}m", "--memory-swap", f"{spec.memory_mb}m"]
    for inside, outside in sorted(spec.published_ports.items()):
        arguments += ["--publish", f"127.0.0.1:{outside}:{inside}"]
    return [*arguments, spec.image, "/sbin/init"]


def _mac_address(spec: HostSpec) -> str:
    """Return a locally administered unicast address that depends on the host alone."""
    digest = hashlib.sha256(f"{spec.owner} {spec.name}".encode()).digest()
    return ":".join(f"{byte:02x}" for byte in bytes([0x02]) + digest[:5])


def _published(bindings: dict[str, Any]) -> dict[int, int]:
    return {
        int(inside.split("/")[0]): int(outside[0]["HostPort"])
        for inside, outside in bindings.items()
        if outside
    }


def _refuse_foreign(
    kind: str, wanted: NetworkSpec | HostSpec, found: NetworkState | HostState
) -> None:
    _refuse_unmarked(kind, found)
    if (found.environment, found.owner) != (wanted.environment, wanted.owner):
        msg = (
            f"{kind} {found.name} belongs to environment {found.environment!r} of another checkout "
            f"on this machine; take it down there, or remove it (podman {kind} rm --force "
            f"{found.name})"
        )
        raise StackError(msg)


def _refuse_unmarked(kind: str, found: NetworkState | HostState) -> None:
    if found.environment is None:
        msg = (
            f"{kind} {found.name} is there already and not made by warmfleet; "
            f"remove it (podman {kind} rm {found.name})"
        )
        raise StackError(msg)


def _failure(action: str, answer: Finished) -> StackError:
    cause = last_line(answer.stderr).removeprefix("Error: ")
    return StackError(f"podman could not {action}: {cause}")


def _greets(address: str) -> bool:
    try:
        with socket.create_connection((address, 22), timeout=2) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


if __name__ == "__main__":
    # Here, and not at the top: the command is built on this module.
    from warmfleet.provider.machines import main

    sys.exit(main())
