"""The points of ``kill_matrix.py``: what is harmed, when, and what a person is told then."""

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.faults.disturb import ITSELF, Harm, kill, kill_group, paused
from tests.faults.fleet import ENVIRONMENT, MAKE_UP, STACK, SUBNET_PREFIX, Fleet, container, podman

UP = ("warmfleet", "up", ENVIRONMENT)
STACK_UP = (*STACK, "up", ENVIRONMENT)
_REPLICA, _GATEWAY = "replica-2", "gw-1"
_WEIGHTS = "/srv/warmfleet/models"
_ENDED = r"failed: .*was ended in the middle; run it again"
_PULUMI = r"/pulumi up "
_ANSIBLE = r"bin/ansible-playbook "
_CREATING = f"{_REPLICA}: creating"
_LOOKING = f"{_GATEWAY}: looking"
_MIB = 1 << 20


def _nothing(_fleet: Fleet) -> None: ...


@dataclass(frozen=True)
class Point:
    """One run that is harmed, and what belongs to it."""

    name: str
    moment: str
    """Pattern of the progress line at which it happens."""
    harm: Callable[[Fleet], Harm]
    says: str | None
    """Pattern of the one error line; None: the run goes on to its end."""
    delay_s: float = 0.0
    before: Callable[[Fleet], None] = _nothing
    """Gives the run something to do."""
    heal: Callable[[Fleet], None] = _nothing
    """Ends what would go on: a cut, a full disk."""
    command: Sequence[str] = ()
    """What is run; empty: what repairs it as well."""


def killed(victim: str, *, beside: str = "") -> Callable[[Fleet], Harm]:
    """Return the harm of a kill -9."""
    return lambda _fleet: kill(victim, beside=beside)


def lost(host: str) -> Callable[[Fleet], None]:
    """Return what removes a host, so that it is made anew."""
    return lambda fleet: fleet.lose(host)


def inside(host: str, script: str) -> Callable[[Fleet], None]:
    """Return what runs a script in a host."""

    def run(fleet: Fleet) -> None:
        fleet.inside(host, script)

    return run


def power_cut(*hosts: str) -> Callable[[Fleet], Harm]:
    """Return the harm of a host that loses its power."""

    def harm(_root: int) -> list[str]:
        podman("kill", *(container(host) for host in hosts))
        return [f"{host} lost its power" for host in hosts]

    return lambda _fleet: harm


def filled(host: str, mib: int) -> Callable[[Fleet], Harm]:
    """Return the harm of a disk of weights that somebody else fills meanwhile."""

    def prepare(fleet: Fleet) -> Harm:
        def harm(_root: int) -> list[str]:
            fleet.inside(host, f"head -c {mib}M /dev/zero >{_WEIGHTS}/.filled")
            return [f"{mib} MiB of the disk of {host} are taken"]

        return harm

    return prepare


def network_cut(_fleet: Fleet) -> Harm:
    """Return the harm of a network that swallows what goes to the replica."""

    def harm(_root: int) -> list[str]:
        _iptables("--insert")
        return [f"the network to {_REPLICA} is cut"]

    return harm


def _iptables(action: str) -> None:
    rule = ("OUTPUT", "--destination", f"{SUBNET_PREFIX}12", "--jump", "DROP")
    subprocess.run(["iptables", action, *rule], check=True, capture_output=True)


def second(*command: str, told: str) -> Callable[[Fleet], Harm]:
    """Return another operator's command, which must be refused with the line ``told``."""

    def prepare(fleet: Fleet) -> Harm:
        def harm(root: int) -> list[str]:
            with paused(root, _PULUMI):  # it must not end before the other one comes to its lock
                done = fleet.run(*command, limit_s=300)
            lines = (done.stdout + done.stderr).splitlines()
            refused = [line for line in lines if re.search(told, line)]
            return refused if done.returncode else []

        return harm

    return prepare


def _fill_logs(fleet: Fleet) -> None:
    folder = fleet.project.environment_state(ENVIRONMENT) / "logs"
    mount = ("mount", "-t", "tmpfs", "-o", "size=4k", "logs", str(folder))
    subprocess.run(mount, check=True)
    (folder / "other.log").write_bytes(b"x" * 4096)


def _free_logs(fleet: Fleet) -> None:
    folder = fleet.project.environment_state(ENVIRONMENT) / "logs"
    subprocess.run(["umount", str(folder)], check=True)


def _small_backend(fleet: Fleet) -> None:
    """Put the stack's state on a disk of its own."""
    backend = fleet.project.state / "backend"
    shutil.copytree(backend, fleet.folder / "kept")
    size = sum(path.stat().st_size for path in backend.rglob("*")) + 4 * _MIB
    mount = ("mount", "-t", "tmpfs", "-o", f"size={size}", "state", str(backend))
    subprocess.run(mount, check=True)
    shutil.copytree(fleet.folder / "kept", backend, dirs_exist_ok=True)


def _fill_backend(fleet: Fleet) -> Harm:
    def harm(_root: int) -> list[str]:
        filler = fleet.project.state / "backend" / "other"
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 4096)
            except OSError as error:
                return [f"the disk of the stack's state is full: {error.strerror}"]

    return harm


def _free_backend(fleet: Fleet) -> None:
    backend = fleet.project.state / "backend"
    (backend / "other").unlink()
    shutil.rmtree(fleet.folder / "kept")
    shutil.copytree(backend, fleet.folder / "kept")
    subprocess.run(["umount", str(backend)], check=True)
    shutil.rmtree(backend)
    shutil.move(fleet.folder / "kept", backend)


_BARE_PULUMI = f'eval "$(warmfleet env)" && exec pulumi up --yes --non-interactive -s {ENVIRONMENT}'

STACK_POINTS = [
    Point("pulumi, at its start", _LOOKING, killed(_PULUMI), "ended by SIGKILL"),
    Point("the stack's program", _LOOKING, killed(r"language.python"), _ENDED),
    Point(
        "pulumi, host half made",
        *(_CREATING, killed(_PULUMI, beside="^podman run "), "ended by SIGKILL"),
        before=lost(_REPLICA),
    ),
    Point(
        "provider, host half made",
        *(_CREATING, killed("pulumi-resource-warmfleet", beside="^podman run "), _ENDED),
        before=lost(_REPLICA),
    ),
    Point(
        "podman, address just taken",
        *(_CREATING, killed("^podman run ", beside=r"/netavark .*setup"), None),
        before=lost(_REPLICA),
    ),
    Point(
        "podman and provider, address just taken",
        _CREATING,
        killed("^podman run |pulumi-resource-warmfleet", beside=r"/netavark .*setup"),
        _ENDED,
        before=lost(_REPLICA),
    ),
    Point(
        "the command, host half made",
        *(_CREATING, killed(ITSELF, beside="^podman run "), None),
        before=lost(_REPLICA),
    ),
    Point(
        "full disk, state of the stack",
        *(_CREATING, _fill_backend, "failed: no space is left on the disk of .*; make room"),
        before=lambda fleet: (fleet.lose(_REPLICA), _small_backend(fleet))[1],
        heal=_free_backend,
    ),
    Point(
        "second operator, bare pulumi up",
        *(_LOOKING, second("bash", "-c", _BARE_PULUMI, told="the stack is currently locked"), None),
    ),
    Point(
        "second operator, beside a bare pulumi up",
        _LOOKING,
        second(
            *UP, told=rf"^error: stack {ENVIRONMENT} is locked by .*; wait until that has ended"
        ),
        None,
    ),
]
STORMS = {
    "cuts and full disks": [
        Point(
            "network cut",
            f"{_REPLICA}: host_baseline: Configure .* Folders",
            *(network_cut, rf"error: .*{_REPLICA}.* is not reachable"),
            heal=lambda _fleet: _iptables("--delete"),
        ),
        Point(
            "full disk, weights on a host",
            f"{_REPLICA}: model_store: Preflight .* Refuse weights",
            *(
                filled(_REPLICA, 640),
                rf"error: .*{_REPLICA}.* no space is left on the disk of {_WEIGHTS}",
            ),
            before=inside(
                _REPLICA,
                f"mkdir -p {_WEIGHTS}; rm -rf {_WEIGHTS}/*; "
                f"mount -t tmpfs -o size=700m weights {_WEIGHTS}",
            ),
            heal=inside(_REPLICA, f"umount {_WEIGHTS}"),
        ),
        Point(
            "power cut of a replica",
            f"{_REPLICA}: host_baseline: Configure .* Folders",
            *(power_cut(_REPLICA), rf"error: .*{_REPLICA}.* is not reachable"),
        ),
        Point(
            "power cut of the gateway",
            f"{_GATEWAY}: edge_proxy: Preflight .* See whether",
            # Whether a task was under way decides which.
            power_cut(_GATEWAY),
            rf"error: .*{_GATEWAY}.* (is not reachable|connection to the host broke)",
        ),
        Point(
            "power cut of gateway and replica, when all is done",
            *("answer *done", power_cut(_REPLICA, _GATEWAY), None),
        ),
    ],
    "a fresh replica": [
        Point("up, at its start", "stack *started", killed(ITSELF), None, before=lost(_REPLICA)),
        Point(
            "make and all that it runs",
            "host_baseline: Preflight",
            *(lambda _fleet: kill_group, None),
            command=MAKE_UP,
        ),
        Point(
            "ansible, first tasks",
            *("host_baseline: Preflight", killed(_ANSIBLE), "ansible-playbook"),
            delay_s=1,
        ),
        Point(
            "ssh, weights on their way",
            f"{_REPLICA}: model_store: Preflight .* Refuse weights",
            killed(r"^ssh "),
            None,
        ),
        Point(
            "ansible, wheels going in",
            f"{_REPLICA}: inference_service: Release .* Push their hashes",
            *(killed(_ANSIBLE), "ansible-playbook"),
            delay_s=3,
            before=lost(_REPLICA),
        ),
        Point(
            "up, replica warming",
            f"{_REPLICA}: inference_service: Run .* Start instances at boot",
            *(killed(ITSELF), None),
            delay_s=4,
        ),
        Point(
            "second operator, warmfleet up beside it",
            "host_baseline: Preflight",
            second(
                *UP, told=f"^error: {ENVIRONMENT} is being changed by warmfleet up {ENVIRONMENT}"
            ),
            None,
        ),
    ],
    "a fresh gateway": [
        Point(
            "ansible, gateway half made",
            f"{_GATEWAY}: edge_proxy: Install .* Set restarts",
            *(killed(_ANSIBLE), "ansible-playbook"),
            delay_s=2,
            before=lost(_GATEWAY),
        ),
        Point(
            "up, gateway half configured",
            f"{_GATEWAY}: edge_proxy: Tree .* Write their keys",
            *(killed(ITSELF), None),
        ),
        Point(
            "make alone, what it runs goes on",
            *("stack *started", killed(ITSELF), None),
            command=MAKE_UP,
        ),
        Point("up, asking for an answer", "answer *started", killed(ITSELF), None),
        Point(
            "full disk, logs",
            *("stack *started", lambda _fleet: lambda _root: ["the disk of logs is full"], None),
            before=_fill_logs,
            heal=_free_logs,
        ),
    ],
}
"""By what they have in common; each run goes on from what the one before it left."""
