"""``warmfleet down``."""

import click

from warmfleet.cli.change import changing
from warmfleet.cli.options import environment_argument, json_option
from warmfleet.cli.output import print_json
from warmfleet.project import Project

__all__ = ["down"]


@click.command(short_help="Destroy an environment; only logs stay.")
@environment_argument
@json_option
def down(environment: str, as_json: bool) -> None:
    """Destroy ENVIRONMENT: its hosts, network, stack and credentials. Its logs stay."""
    from warmfleet.deploy.down import down as take_down

    project = Project.find()
    project.spec_file(environment)
    with changing(project, environment, "down") as (reporter, log_file):
        changes = take_down(project, environment, reporter)
    if as_json:
        print_json({"environment": environment, "resources": changes, "log_file": str(log_file)})
    else:
        click.echo(f"{environment} is down: {changes.get('delete', 0)} resources deleted.")
