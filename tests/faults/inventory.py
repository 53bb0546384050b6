"""All that there is of a fleet, on both sides, as one value to compare."""

import contextlib
import hashlib
import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.faults.fleet import ENVIRONMENT, SUBNET_PREFIX, Fleet, container, podman

__all__ = ["differences", "state", "traces"]

_ENDS_ITSELF_S = 3.0  # what sees that its parent is gone
# What differs between two runs that both went well: histories, logs, what the last run wrote.
_VOLATILE = re.compile(
    r"/(history|backups|logs|runner|wheelhouse|weights|pulumi|config)/|\.(bak|attrs|gz)$"
)
_ROLE_FOLDERS = "/etc/warmfleet /etc/nginx /etc/systemd/system /opt /srv/warmfleet"
# Not /root/.ansible/tmp: what killed runs leave there goes when it is an hour old.
_LISTED = "/tmp /var/tmp /root /etc/systemd/journald.conf.d /etc/sysctl.d"  # noqa: S108
_LOOK = f"""
find {_ROLE_FOLDERS} -name __pycache__ -prune -o -type f -size -2M -print0 2>/dev/null \
  | sort -z | xargs -0 sha256sum
find {_ROLE_FOLDERS} -name __pycache__ -prune -o \\( -type l -o -type d -o -size +2M \\) \
  -printf '%p %l %M\\n' 2>/dev/null | sort
find {_LISTED} -mindepth 1 -maxdepth 1 -printf '%p %M\\n' 2>/dev/null | sort
systemctl list-units --failed --plain --no-legend
nft list table inet warmfleet 2>/dev/null | grep -c .
"""
_RANDOM = re.compile(r"(systemd-private-)[0-9a-f]+-(.*)-\w+ ")


def state(fleet: Fleet, *, inside: bool) -> dict[str, Any]:
    """Return all that there is; ``inside`` looks into the hosts as well."""
    containers = _containers()
    found = {
        "containers": containers,
        **traces(SUBNET_PREFIX, f"warmfleet-{ENVIRONMENT}"),
        "stack": _stack(fleet),
        "files": _files(fleet),
        "temporary": _temporary(fleet),
        "processes": _processes(fleet),
    }
    if inside:
        found["hosts"] = {name: _inside(name) for name in containers}
    return found


def traces(subnet_prefix: str, network: str) -> dict[str, list[str]]:
    """Return what the kernel and podman keep of a network: addresses, rules, helpers."""
    namespaces = (["-netns", path.name] for path in Path("/run/netns").glob("netns-*"))
    return {
        "networks": [
            name
            for name in podman("network", "ls", "--format", "{{.Name}}").split()
            if name == network
        ],
        "addresses": sorted(
            address
            for place in ([], *namespaces)
            for address in re.findall(
                rf"inet ({re.escape(subnet_prefix)}\S+)",
                _printed("ip", *place, "-oneline", "-4", "address", check=False),
            )
        ),
        "rules": sorted(
            # Chains and comments carry names that every new container or network has anew.
            re.sub(r"NETAVARK-(DN-)?[0-9A-F]{8,}|id: [0-9a-f]{64}", "ANY", rule)
            for rule in _printed("iptables-save").splitlines()
            if subnet_prefix in rule or f"name: {network} " in rule
        ),
        "frees": podman(
            "ps", "--all", "--format", "{{.Names}}", "--filter", "name=warmfleet-frees"
        ).split(),
    }


def differences(found: Any, wanted: Any, place: str = "") -> list[str]:
    """Return a line for each value in which two states differ."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return [
            line
            for key in sorted(found.keys() | wanted.keys())
            for line in differences(found.get(key), wanted.get(key), f"{place}/{key}")
        ]
    if isinstance(found, list) and isinstance(wanted, list):
        more = [f"{place}: + {item}" for item in found if item not in wanted]
        less = [f"{place}: - {item}" for item in wanted if item not in found]
        return more + less or ([] if found == wanted else [f"{place}: {found} != {wanted}"])
    return [] if found == wanted else [f"{place}: {found} != {wanted}"]


def _containers() -> dict[str, Any]:
    listed = json.loads(podman("ps", "--all", "--external", "--format", "json"))
    ours = container("")
    names = [name for entry in listed for name in entry["Names"] or [] if name.startswith(ours)]
    found = json.loads(podman("container", "inspect", *names)) if names else []
    return {
        one["Name"]: {
            "state": one["State"]["Status"],
            "labels": one["Config"]["Labels"],
            "image": one["ImageName"],
            "address": [
                network["IPAddress"] for network in one["NetworkSettings"]["Networks"].values()
            ],
            "ports": one["HostConfig"]["PortBindings"],
        }
        for one in found
    }


def _stack(fleet: Fleet) -> dict[str, Any]:
    backend = fleet.project.state / "backend" / ".pulumi"
    locks = len(list(backend.glob("locks/**/*.json")))
    for file in backend.glob(f"stacks/*/{ENVIRONMENT}.json"):
        latest = json.loads(file.read_text())["checkpoint"]["latest"] or {}
        resources = latest.get("resources", [])
        outputs = json.dumps(resources[0].get("outputs") if resources else None, sort_keys=True)
        return {
            "locks": locks,
            "resources": sorted(resource["urn"] for resource in resources),
            "unfinished": [
                f"{step['type']} {step['resource']['urn'].rpartition('::')[2]}"
                for step in latest.get("pending_operations") or []
            ],
            "outputs": re.sub(r"ssh-ed25519 [\w+/=]+", "KEY", outputs),
        }
    return {"locks": locks}


def _files(fleet: Fleet) -> dict[str, str]:
    root = fleet.project.state
    names = {path: str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    return {
        # The pinned keys of hosts that were made anew differ; the rest of it is the stack's.
        name: ""
        if "backend/" in name or name.endswith("known_hosts")
        else hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        for path, name in sorted(names.items())
        if not _VOLATILE.search(f"/{name}")
    }


def _temporary(fleet: Fleet) -> list[str]:
    """Return what is in the folders for temporary files, drafts included."""
    drafts = [
        *(fleet.folder / "tmp").rglob("*"),
        *(fleet.folder / "home").glob(".ansible/tmp/*"),
        *fleet.project.state.glob("**/.*-????????"),
        *(fleet.project.state / "wheelhouse").glob(".draft-*"),
        *(fleet.project.state / "weights").glob("*/.draft-*"),
    ]
    return sorted({str(path.relative_to(fleet.folder)) for path in drafts})


def _processes(fleet: Fleet) -> list[str]:
    """Return what still runs for this project; connections that ssh keeps open are meant."""
    mark = f"={fleet.project.root}".encode()
    deadline = time.monotonic() + _ENDS_ITSELF_S
    while True:
        found = sorted(
            command
            for folder in Path("/proc").iterdir()
            if folder.name.isdigit() and (command := _marked(folder, mark))
        )
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


def _marked(folder: Path, mark: bytes) -> str | None:
    with contextlib.suppress(OSError):
        if int(folder.name) != os.getpid() and mark in (folder / "environ").read_bytes():
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            return None if command.startswith("ssh: ") else command
    return None


def _inside(name: str) -> list[str]:
    done = _printed("podman", "exec", name, "sh", "-c", _LOOK, check=False)
    return [_RANDOM.sub(r"\1\2 ", line) for line in done.splitlines()]


def _printed(*command: str, check: bool = True) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=check).stdout
