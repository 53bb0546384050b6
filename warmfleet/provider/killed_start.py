"""Clears away what a ``podman`` left that was killed while it started a host.

It takes the host's address in its books first, lets netavark use it, makes the container by runc
and conmon, and writes down after each what it has. Killed in between, what it did last is found by
no command of it: an address that stays taken until the machine is booted, with a network namespace
that has it and rules that send published ports there; a conmon that holds those ports.
"""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from warmfleet.provider.process import Finished

__all__ = ["clear_killed_start"]

_HELD = re.compile(
    r"requested ip address (?P<address>\S+) is already allocated to container ID (?P<holder>\w+)"
)
_NAMESPACES = Path("/run/netns")
_OTHER_NETWORK = "podman"  # there is always one of this name
_LIFE_S = "60"
_LIMITS = (
    "--ulimit",
    "nofile=1024:1024",
    "--ulimit",
    "nproc=1024:1024",
)  # the defaults are refused

_Podman = Callable[..., Finished]
_AsRoot = Callable[..., str]


def clear_killed_start(name: str, printed: str, podman: _Podman, as_root: _AsRoot) -> bool:
    """Clear away what hinders the start of a host; tell whether another try may go better.

    Args:
        name: the host's container.
        printed: what podman printed when it could not start.
        podman: runs podman with arguments.
        as_root: runs a program with arguments and returns what it prints.
    """
    host = _inspect(podman, name)
    if host is None or host["State"]["Running"]:
        return False
    as_root("runc", "delete", "--force", host["Id"])  # its conmon ends with it
    if held := _HELD.search(printed):
        holder = _inspect(podman, held["holder"])
        if holder is not None and holder["State"]["Running"]:
            return False
        _remove_rules(held["holder"], as_root)
        _remove_namespace(held["address"], as_root)
        [network] = host["NetworkSettings"]["Networks"]
        _free(held["address"], network, host["ImageName"], podman)
    return True


def _inspect(podman: _Podman, container: str) -> dict[str, Any] | None:
    answer = podman("container", "inspect", container)
    if answer.status:
        return None
    found: dict[str, Any] = json.loads(answer.stdout)[0]
    return found


def _remove_rules(container: str, as_root: _AsRoot) -> None:
    for rule in as_root("iptables-save", "--table", "nat").splitlines():
        if container in rule:
            as_root("iptables", "--table", "nat", "--delete", *shlex.split(rule)[1:])


def _remove_namespace(address: str, as_root: _AsRoot) -> None:
    for name in sorted(path.name for path in _NAMESPACES.glob("netns-*")):
        # Of one that is gone meanwhile, nothing is printed.
        if f" {address}/" in as_root("ip", "-netns", name, "-oneline", "-4", "address"):
            as_root("ip", "netns", "delete", name)


def _free(address: str, network: str, image: str, podman: _Podman) -> None:
    """Give an address of the network back.

    A container that leaves a network gives back the address that it asked for there, whoever has
    it. So one is made that asks for this one, in vain, and leaves.
    """
    name = f"warmfleet-frees-{address}"
    remove = ("rm", "--force", "--ignore", "--time", "0", name)
    podman(*remove)
    # Should it not be removed here, it is gone within a minute all the same.
    made = ("run", "--detach", "--rm", "--pull", "never", "--name", name, *_LIMITS)
    podman(*made, "--network", _OTHER_NETWORK, image, "sleep", _LIFE_S)
    podman("network", "connect", "--ip", address, network, name)
    podman("network", "disconnect", network, name)
    podman(*remove)
