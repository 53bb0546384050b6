"""One command at a time may change an environment."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from warmfleet.converge.locks import LockHeldError, exclusive, holder_of
from warmfleet.errors import EnvironmentBusyError
from warmfleet.project import Project

__all__ = ["operation"]


@contextmanager
def operation(project: Project, environment: str) -> Iterator[None]:
    """Keep the environment for this process; the claim ends with it at latest, also when killed.

    Raises:
        EnvironmentBusyError: another command of this project is changing it; names that.
    """
    # Its folder and not a file in it: `down` removes the files, and must hold the claim to its end.
    folder = project.environment_state(environment)
    try:
        with exclusive(folder, wait=False):
            yield
    except LockHeldError as error:
        pid = holder_of(folder)
        holder = f"{_command(pid)} (pid {pid})" if pid else "another command"
        stop = f"stop it (kill -INT {pid})" if pid else "stop it"
        msg = f"{environment} is being changed by {holder}; wait for it or {stop}, then try again"
        raise EnvironmentBusyError(msg) from error


def _command(pid: int) -> str:
    words: list[str] = []
    with suppress(OSError):
        words = Path("/proc", str(pid), "cmdline").read_text(errors="replace").split("\0")
    # After the interpreter: "python /somewhere/bin/warmfleet up lab".
    program, *arguments = words[1:] or ["a process"]
    return " ".join([Path(program).name, *arguments]).strip()
