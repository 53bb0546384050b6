"""``warmfleet env``."""

import os
import shlex
import sys
from pathlib import Path

import click

from warmfleet.cli.options import json_option
from warmfleet.cli.output import print_json
from warmfleet.content import in_checkout
from warmfleet.project import Project

__all__ = ["env"]


@click.command()
@json_option
def env(as_json: bool) -> None:
    """Print what bare `pulumi` and `ansible-playbook` need in their environment.

    For example: eval "$(warmfleet env)" && pulumi preview -s lab. Secrets stay in files: only
    their paths are printed.
    """
    wanted = Project.find().pulumi_environment()
    # What the caller has set already stays unprinted: a backend URL may carry a password.
    variables = {name: value for name, value in wanted.items() if os.environ.get(name) != value}
    folders = _program_folders()
    if as_json:
        print_json({"variables": variables, "path": folders})
        return
    for name, value in variables.items():
        click.echo(f"export {name}={shlex.quote(value)}")
    if folders:
        click.echo(f'export PATH={shlex.quote(os.pathsep.join(folders))}:"$PATH"')


def _program_folders() -> list[str]:
    """Return the folders with our console scripts and tools that are not on PATH yet."""
    folders = [Path(sys.prefix) / "bin"]
    if (checkout := in_checkout()) is not None:
        folders.append(checkout / ".tools" / "bin")
    known = os.environ.get("PATH", "").split(os.pathsep)
    return [str(folder) for folder in folders if folder.is_dir() and str(folder) not in known]
