"""What every command does around a change of an environment."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from warmfleet.cli.output import open_log, progress_console
from warmfleet.project import Project

if TYPE_CHECKING:
    from warmfleet.deploy.progress import Reporter

__all__ = ["changing"]


@contextmanager
def changing(project: Project, environment: str, verb: str) -> Iterator[tuple["Reporter", Path]]:
    """Open the log file, keep other commands away and show progress; yield reporter and log file.

    Raises:
        EnvironmentBusyError: another command is changing the environment; names that.
    """
    from warmfleet.deploy.operation import operation
    from warmfleet.deploy.progress import Reporter

    log_file = open_log(project, environment, verb)
    with operation(project, environment), Reporter(progress_console()) as reporter:
        yield reporter, log_file
