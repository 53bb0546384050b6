"""Brings the stack alone up, or destroys it: ``python stack_command.py up|destroy ENVIRONMENT``."""

import sys

from warmfleet.errors import WarmfleetError
from warmfleet.project import Project
from warmfleet.stack.workspace import Workspace


def say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    verb, environment = sys.argv[1:]
    workspace = Workspace(Project.find(), environment)
    try:
        (workspace.up if verb == "up" else workspace.destroy)(say)
    except WarmfleetError as error:
        say(f"error: {error}")
        sys.exit(error.exit_status)
