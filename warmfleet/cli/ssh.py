"""``warmfleet ssh``."""

import os

import click

from warmfleet.cli.options import host_arguments, json_option
from warmfleet.cli.output import print_json
from warmfleet.errors import ToolMissingError
from warmfleet.project import Project

__all__ = ["ssh"]


@click.command(short_help="Log in to a host, or run a command there.")
@host_arguments
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@json_option
def ssh(environment: str, host: str, command: tuple[str, ...], as_json: bool) -> None:
    """Log in to HOST of ENVIRONMENT, or run COMMAND there: warmfleet ssh lab gw-1 -- uptime.

    It becomes the system's ssh, with the environment's key and the host key pinned in the stack.
    COMMAND goes to the host's shell and its exit status is passed on, as with ssh itself. With
    --json nothing is run: it prints how to get there, for rsync and the like.
    """
    from warmfleet.operate.shell import shell_call
    from warmfleet.operate.target import Target

    call = shell_call(Target.find(Project.find(), environment, host), command)
    if as_json:
        print_json(call.model_dump(mode="json"))
        return
    try:
        os.execvp(call.argv[0], call.argv)  # noqa: S606 - no shell is the point
    except FileNotFoundError as error:
        msg = "ssh is not on PATH; install an OpenSSH client"
        raise ToolMissingError(msg) from error
