"""``warmfleet up``."""

import click

from warmfleet.cli.change import changing
from warmfleet.cli.options import environment_argument, json_option
from warmfleet.cli.output import print_json, result_console
from warmfleet.project import Project

__all__ = ["up"]


@click.command(short_help="Bring an environment up, converge it, prove that it answers.")
@environment_argument
@json_option
def up(environment: str, as_json: bool) -> None:
    """Bring ENVIRONMENT to what its plan says and prove that it answers.

    Runs `pulumi up`, then Ansible, waits until every replica is warm, sends real requests through
    the gateway and prints the cold-start ledger. Running it again changes only what differs.
    """
    from warmfleet.deploy.render import render_up
    from warmfleet.deploy.up import up as bring_up

    project = Project.find()
    project.spec_file(environment)
    with changing(project, environment, "up") as (reporter, log_file):
        result = bring_up(project, environment, reporter, log_file)
    if as_json:
        print_json(result.model_dump(mode="json"))
    else:
        render_up(result, result_console())
