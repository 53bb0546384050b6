"""Turns itself into an engine: what every child gets before its own code begins.

``python -m inference_app.engines.confined any|unix PROGRAM [ARGUMENT ...]``: it ends with its
parent, and with ``unix`` it has Unix sockets alone. A program and not a ``preexec_fn``: code of
Python between fork and exec may deadlock in a process with threads.
"""

import os
import sys

from inference_app.engines.parent_death import die_with_parent
from inference_app.engines.socket_filter import unix_sockets_only

__all__ = ["confined", "main"]


def confined(command: list[str], *, network: bool) -> list[str]:
    """Return the argv that starts ``command`` confined."""
    kind = "any" if network else "unix"
    return [sys.executable, "-m", "inference_app.engines.confined", kind, *command]


def main(arguments: list[str]) -> int:
    """Become the program; return 1 with one line on stderr where that fails."""
    kind, *command = arguments
    try:
        die_with_parent()
        if kind == "unix":
            unix_sockets_only()
    except OSError as error:
        sys.stderr.write(f"cannot confine the engine: {error.strerror}\n")
        return 1
    try:
        os.execv(command[0], command)  # noqa: S606 - no shell is the point
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error.strerror}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
