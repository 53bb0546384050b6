"""Where a run of Ansible keeps what it needs, and what a killed one leaves there for the next."""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from warmfleet.converge.processes import end_marked
from warmfleet.errors import ConvergeError
from warmfleet.project import Project

__all__ = [
    "IDENT",
    "MARK",
    "end_left_run",
    "fresh_run",
    "run_of",
    "runner_folder",
    "temporary_folder",
]

IDENT = "run"
MARK = "AWX_ISOLATED_DATA_DIR"
"""Variable that ansible-runner gives to Ansible: the folder of this run."""


def runner_folder(project: Project, environment: str) -> Path:
    """Return the folder of an environment's runs."""
    return project.environment_state(environment) / "runner"


def run_of(folder: Path) -> Path:
    """Return the folder of the last run."""
    return folder / "last"


def fresh_run(folder: Path) -> Path:
    """Return it empty: ansible-runner lets files of an earlier run win over arguments."""
    run = run_of(folder)
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir(mode=0o700)
    return run


@contextmanager
def temporary_folder(folder: Path) -> Iterator[Path]:
    """Make a folder for a run's sockets, whose paths may have no more than 107 bytes.

    Its name is that of the environment's runs, so that what a killed one leaves is found.

    Raises:
        ConvergeError: it cannot be made, or is there and not ours.
    """
    path = _temporary(folder)
    try:
        path.mkdir(mode=0o700)
    except OSError as error:
        msg = f"{path}: {error.strerror}; needed: a folder of this run's own; remove what is there"
        raise ConvergeError(msg) from error
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def end_left_run(project: Project, environment: str) -> None:
    """End what a killed run left: it would go on changing hosts, or wait for them for ever."""
    folder = runner_folder(project, environment)
    end_marked(MARK, str(run_of(folder) / "artifacts" / IDENT))
    shutil.rmtree(_temporary(folder), ignore_errors=True)


def _temporary(folder: Path) -> Path:
    name = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir(), f"warmfleet-{name}")
