"""``warmfleet converge``."""

from dataclasses import asdict

import click

from warmfleet.cli.change import changing
from warmfleet.cli.options import environment_argument, json_option
from warmfleet.cli.output import print_json
from warmfleet.project import Project

__all__ = ["converge"]


@click.command(short_help="Run only Ansible over an environment that is up.")
@environment_argument
@click.option("--check", is_flag=True, help="Change nothing; say what would change.")
@click.option("--diff", is_flag=True, help="Write the differences of files to the log.")
@click.option("--limit", metavar="HOSTS", help="Only these hosts, as Ansible's --limit.")
@json_option
def converge(environment: str, check: bool, diff: bool, limit: str | None, as_json: bool) -> None:
    """Bring the hosts of ENVIRONMENT to what the roles say.

    With --check nothing is changed and the exit status is 3 when something would change.
    """
    from warmfleet.deploy.hosts import converge_hosts
    from warmfleet.plan.lock import check_lock

    project = Project.find()
    check_lock(project, environment)
    with changing(project, environment, "converge") as (reporter, log_file):
        result = converge_hosts(project, environment, reporter, check=check, diff=diff, limit=limit)
    if as_json:
        print_json(
            {
                "ok": result.ok,
                "changed": result.changed,
                "changed_tasks": result.changed_tasks,
                "hosts": {name: asdict(recap) for name, recap in result.hosts.items()},
                "duration_s": result.duration_s,
                "log_file": str(log_file),
            }
        )
    else:
        verb = "would change" if check else "changed"
        click.echo(f"{result.changed} of {result.ok} tasks {verb} something. Log: {log_file}")
        for task in result.changed_tasks:
            click.echo(f"  {task}")
    if check and result.changed:
        click.get_current_context().exit(3)
