"""``warmfleet status``."""

import click

from warmfleet.cli.options import environment_argument, json_option
from warmfleet.cli.output import print_json, result_console
from warmfleet.project import Project

__all__ = ["status"]


@click.command(short_help="Show hosts, replicas and their cold-start ledgers.")
@environment_argument
@json_option
def status(environment: str, as_json: bool) -> None:
    """Show hosts and replicas of ENVIRONMENT as they are now.

    A replica that does not answer is shown as unreachable with the reason; that is a result, not a
    failure of this command.
    """
    from warmfleet.deploy.render import render_status
    from warmfleet.deploy.status import read_status

    found = read_status(Project.find(), environment)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        render_status(found, result_console())
