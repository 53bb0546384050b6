"""``warmfleet replace``."""

import sys

import click

from warmfleet.cli.change import changing
from warmfleet.cli.options import host_arguments, json_option
from warmfleet.cli.output import print_json, print_serving
from warmfleet.project import Project

__all__ = ["replace"]


@click.command(short_help="Destroy a host and make it anew.")
@host_arguments
@click.option("--yes", is_flag=True, help="Do not ask for the host's name again.")
@json_option
def replace(environment: str, host: str, yes: bool, as_json: bool) -> None:
    """Destroy HOST of ENVIRONMENT with all it holds, make it anew and converge it alone.

    A replica is drained first and serves again at the end; the floor of ready replicas is kept.
    Needs --yes, or the host's name typed at a terminal.
    """
    from warmfleet.operate.replace import replace as replace_host
    from warmfleet.operate.replace import warning_of
    from warmfleet.operate.target import Target

    project = Project.find()
    target = Target.find(project, environment, host)
    click.echo(warning_of(target), err=True)
    if not yes:
        _must_confirm(host)
    with changing(project, environment, "replace") as (reporter, log_file):
        result = replace_host(target, reporter)
    if as_json:
        print_json({**result.model_dump(mode="json"), "log_file": str(log_file)})
        return
    tasks = result.tasks
    click.echo(f"{host} is new: {tasks['changed']} of {tasks['ok']} tasks changed something.")
    print_serving(environment, host, result.answer.ttft_s if result.answer else None)
    click.echo(f"Log: {log_file}")


def _must_confirm(host: str) -> None:
    ctx = click.get_current_context()
    if not sys.stdin.isatty():
        msg = f"found no confirmation that {host} is to be destroyed; needed: --yes, or a terminal"
        raise click.UsageError(msg, ctx)
    typed = click.prompt("Type the host's name to go on", default="", show_default=False, err=True)
    if typed != host:
        msg = f"found {typed!r}; needed: {host}; nothing was changed"
        raise click.UsageError(msg, ctx)
