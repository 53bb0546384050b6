"""``warmfleet down``."""

import click

from warmfleet.cli.options import environment_argument, json_option
from warmfleet.cli.output import open_log, print_json, progress_console
from warmfleet.project import Project

__all__ = ["down"]


@click.command(short_help="Destroy an environment; only logs stay.")
@environment_argument
@json_option
def down(environment: str, as_json: bool) -> None:
    """Destroy ENVIRONMENT: its hosts, network, stack and credentials. Its logs stay."""
    from warmfleet.deploy.down import down as take_down
    from warmfleet.deploy.operation import operation
    from warmfleet.deploy.progress import Reporter

    project = Project.find()
    project.spec_file(environment)
    log_file = open_log(project, environment, "down")
    with operation(project, environment), Reporter(progress_console()) as reporter:
        changes = take_down(project, environment, reporter)
    if as_json:
        print_json({"environment": environment, "resources": changes, "log_file": str(log_file)})
    else:
        click.echo(f"{environment} is down: {changes.get('delete', 0)} resources deleted.")
