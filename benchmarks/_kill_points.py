"""The points of ``kill_matrix.py``: what is harmed, when, and what a person is told then."""

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from tests.faults.disturb import ITSELF, Harm, kill
from tests.faults.fleet import ENVIRONMENT, STACK, Fleet

STACK_UP = (*STACK, "up", ENVIRONMENT)
_REPLICA, _GATEWAY = "replica-2", "gw-1"
_WEIGHTS = "/srv/warmfleet/models"
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


def killed(victim: str, *, beside: str = "") -> Callable[[Fleet], Harm]:
    """Return the harm of a kill -9."""
    return lambda _fleet: kill(victim, beside=beside)


def lost(host: str) -> Callable[[Fleet], None]:
    """Return what removes a host, so that it is made anew."""
    return lambda fleet: fleet.lose(host)


def second(*command: str, told: str) -> Callable[[Fleet], Harm]:
    """Return another operator's command, which must be refused with the line ``told``."""

    def prepare(fleet: Fleet) -> Harm:
        def harm(_root: int) -> list[str]:
            done = fleet.run(*command, limit_s=120)
            lines = (done.stdout + done.stderr).splitlines()
            refused = [line for line in lines if re.search(told, line)]
            return refused if done.returncode else []

        return harm

    return prepare


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

POINTS = [
    Point("pulumi, at its start", _LOOKING, killed(r"/pulumi up "), "ended by SIGKILL"),
    Point("the stack's program", _LOOKING, killed(r"language.python"), "failed: "),
    Point(
        "pulumi, host half made",
        *(_CREATING, killed(r"/pulumi up ", beside="^podman run "), "ended by SIGKILL"),
        before=lost(_REPLICA),
    ),
    Point(
        "provider, host half made",
        *(_CREATING, killed("pulumi-resource-warmfleet", beside="^podman run "), "failed: "),
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
        "failed: ",
        before=lost(_REPLICA),
    ),
    Point(
        "the command, host half made",
        *(_CREATING, killed(ITSELF, beside="^podman run "), None),
        before=lost(_REPLICA),
    ),
    Point(
        "full disk, state of the stack",
        *(_CREATING, _fill_backend, "failed: "),
        before=lambda fleet: (fleet.lose(_REPLICA), _small_backend(fleet))[1],
        heal=_free_backend,
    ),
    Point(
        "second operator, bare pulumi up",
        *(_LOOKING, second("bash", "-c", _BARE_PULUMI, told="the stack is currently locked"), None),
    ),
]
