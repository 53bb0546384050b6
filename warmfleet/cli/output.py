"""What commands print: results on stdout; errors, progress and logs on stderr."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from warmfleet import logs
from warmfleet.errors import PermissionNeededError
from warmfleet.project import Project

if TYPE_CHECKING:
    from rich.console import Console

__all__ = [
    "current_log_file",
    "open_log",
    "print_error",
    "print_json",
    "print_serving",
    "progress_console",
    "result_console",
    "write_result",
]

_log_file: Path | None = None


def print_json(value: Any, file: Path | None = None) -> None:
    """Print a result for machines, or write it to a file."""
    write_result(json.dumps(value, indent=2, ensure_ascii=False) + "\n", file)


def write_result(text: str, file: Path | None = None) -> None:
    """Print a page, or write it to a file and name that on stderr.

    Raises:
        PermissionNeededError: there cannot be a file of that name.
    """
    if file is None:
        click.echo(text, nl=False)
        return
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        msg = f"{file} cannot be written: {error.strerror}; needed a file of this user"
        raise PermissionNeededError(msg) from error
    click.echo(f"wrote {file}", err=True)


def print_serving(environment: str, host: str, ttft_s: float | None) -> None:
    """Say how a host answers after an operation; None for one that was drained before it."""
    if ttft_s is None:
        click.echo(f"It was drained before and stays so: warmfleet undrain {environment} {host}")
    else:
        click.echo(f"It serves: first token {ttft_s:.2f} s after the request.")


def print_error(code: str, message: str, *, as_json: bool) -> None:
    """Print ``error: LINE`` for each line on stderr; with ``as_json`` an object on stdout too."""
    for line in message.splitlines() or [code]:
        click.echo(f"error: {line}", err=True)
    if as_json:
        print_json({"error": {"code": code, "message": message}})


def result_console() -> "Console":
    """Return rich's console on stdout; a pipe gets full lines, not those of a narrow terminal."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False)
    return console if console.is_terminal else Console(highlight=False, width=160)


def progress_console() -> "Console":
    """Return rich's console on stderr."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def open_log(project: Project, environment: str, command: str) -> Path:
    """Open the detail log of this run; an unexpected error will name it."""
    global _log_file  # noqa: PLW0603 - one process runs one command
    _log_file = logs.open_log_file(project.environment_state(environment) / "logs", command)
    return _log_file


def current_log_file() -> Path | None:
    """Return the detail log of this run, None when the command keeps none."""
    return _log_file
