"""The folder of wheels that hosts install the service from; hosts reach no package index.

``python -m warmfleet.converge.wheelhouse [ENV ...]`` fills it and fetches the weights of the
environments' plans ahead of time, so that both can happen while hosts are still being made.
"""

import hashlib
import shutil
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from warmfleet import logs
from warmfleet.content import content_root
from warmfleet.converge.locks import exclusive
from warmfleet.converge.packages import Progress, download
from warmfleet.converge.weights import ensure_weights
from warmfleet.converge.wheel import ServiceWheel
from warmfleet.errors import ConvergeError, WarmfleetError
from warmfleet.plan.lock import read_any_lock
from warmfleet.plan.models import FleetPlan
from warmfleet.project import Project
from warmfleet.space import require_space

__all__ = ["ARCHIVE", "HOST_PYTHON", "Wheelhouse", "ensure_wheelhouse", "main", "release_digest"]

HOST_PYTHON = "3.11"
"""Python of the hosts (Debian 12)."""

ARCHIVE = "wheels.tar"
"""All wheels in one file: a transfer per wheel would take a host a minute."""

_HOST_ABIS = ("cp311", "abi3", "none")
# From the C library of Debian 12 downwards: pip takes only the tags it is told.
_HOST_PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in range(36, 16, -1)]
_KEPT = 3
_NEEDED_BYTES = 250_000_000
"""Wheels, the archive of them, and what pip unpacks meanwhile."""


@dataclass(frozen=True)
class Wheelhouse:
    """Wheels of the service and all it needs.

    ``digest`` names the release on a host. It covers what a host installs and nothing else: the
    service's files, its requirements, and the lock. A change in roles, docs or the control side
    leaves it alone, for every change of it restarts every replica.
    """

    path: Path
    digest: str
    requirement: str


def ensure_wheelhouse(project: Project, progress: Progress) -> Wheelhouse:
    """Return the wheelhouse of the current sources and lock; make it when it is not there.

    Safe to call from several processes at once: one makes it, the others wait.

    Raises:
        ConvergeError: a locked wheel could not be downloaded.
        DiskFullError: no room for them.
        ToolMissingError: no roles, no service package or no pip in this installation.
    """
    wheel = ServiceWheel()
    content = wheel.content()
    lock_file = content_root() / "roles" / "inference_service" / "files" / "requirements.lock"
    digest = release_digest(content, lock_file)
    root = project.state / "wheelhouse"
    root.mkdir(mode=0o700, exist_ok=True)
    house = Wheelhouse(root / digest, digest, wheel.requirement)
    if house.path.is_dir():
        return house
    with exclusive(root / ".lock"):
        if not house.path.is_dir():
            require_space(root, _NEEDED_BYTES, f"wheelhouse {digest}")
            progress(f"wheelhouse {digest}: fetching the wheels of {lock_file.name}")
            _fill(house.path, wheel.file_name, content, lock_file, progress)
        _prune(root, keep=house.path)
    return house


def release_digest(wheel: bytes, lock_file: Path) -> str:
    """Return the name of the release that a host has after installing these."""
    whole = hashlib.sha256()
    for part in (wheel, lock_file.read_bytes(), HOST_PYTHON.encode()):
        whole.update(hashlib.sha256(part).digest())
    return whole.hexdigest()[:12]


def main(arguments: list[str] | None = None) -> int:
    """Prefetch; progress on stderr, the wheelhouse's path on stdout; the exit status."""
    logs.configure()
    try:
        project = Project.find()
        environments = sys.argv[1:] if arguments is None else arguments
        house = ensure_wheelhouse(project, _say)
        for environment in environments or project.environments():
            plan = read_any_lock(project.plan_file(environment))
            # The weights of leased servers are not fetched yet.
            for model in plan.models if isinstance(plan, FleetPlan) else ():
                ensure_weights(project, model, _say)
    except WarmfleetError as error:
        _say(f"error: {error}")
        return error.exit_status
    sys.stdout.write(f"{house.path}\n")
    return 0


def _fill(path: Path, name: str, wheel: bytes, lock_file: Path, progress: Progress) -> None:
    draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=path.parent))
    try:
        target = ["--python-version", HOST_PYTHON, "--implementation", "cp"]
        target += [f"--abi={abi}" for abi in _HOST_ABIS]
        target += [
            f"--platform={platform}" for platform in (*_HOST_PLATFORMS, "manylinux2014_x86_64")
        ]
        download([*target, "--require-hashes", "-r", str(lock_file)], draft, progress)
        (draft / name).write_bytes(wheel)
        with tarfile.open(draft / ARCHIVE, "w") as archive:
            for file in sorted(draft.glob("*.whl")):
                archive.add(file, file.name, filter=_anonymous)
        draft.rename(path)
    except OSError as error:
        msg = f"wheelhouse {path}: {error.strerror}; needed: a writable disk"
        raise ConvergeError(msg) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Leave out who packed it and when: the same wheels give the same archive."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o644
    return entry


def _prune(root: Path, keep: Path) -> None:
    """Remove all but the newest few, and drafts that a killed process left."""
    for draft in root.glob(".draft-*"):
        shutil.rmtree(draft, ignore_errors=True)
    finished = [path for path in root.iterdir() if path.is_dir() and path != keep]
    finished.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for old in finished[_KEPT - 1 :]:
        shutil.rmtree(old, ignore_errors=True)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
