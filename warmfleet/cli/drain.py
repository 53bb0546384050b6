"""``warmfleet drain`` and ``warmfleet undrain``."""

import click

from warmfleet.cli.change import changing
from warmfleet.cli.options import host_arguments, json_option
from warmfleet.cli.output import print_json
from warmfleet.project import Project

__all__ = ["drain", "undrain"]


@click.command(short_help="Send a host no requests; it stays warm.")
@host_arguments
@json_option
def drain(environment: str, host: str, as_json: bool) -> None:
    """Take HOST of ENVIRONMENT out of all balancing and wait until it has no request under way.

    It stays warm, and stays out until `warmfleet undrain`: over restarts, converge and up. Refused
    (exit status 4) when fewer ready replicas would be left than updates.floor of the spec says.
    """
    from warmfleet.operate.drain import drain as take_out
    from warmfleet.operate.target import Target

    project = Project.find()
    target = Target.find(project, environment, host)
    with changing(project, environment, "drain") as (reporter, _):
        result = take_out(target, reporter)
    if as_json:
        print_json(result.model_dump(mode="json"))
        return
    already = "" if result.changed else " already"
    who = f", by {result.by} since {result.since}" if result.by and result.since else ""
    click.echo(
        f"{host} is drained{already}{who}: it is warm, gets no requests and has none under way.\n"
        f"Let it serve again: warmfleet undrain {environment} {host}"
    )


@click.command(short_help="Let a drained host serve again.")
@host_arguments
@json_option
def undrain(environment: str, host: str, as_json: bool) -> None:
    """Let HOST of ENVIRONMENT have requests again: at once when it is ready, else when it is."""
    from warmfleet.operate.drain import undrain as give_back
    from warmfleet.operate.target import Target

    project = Project.find()
    target = Target.find(project, environment, host)
    with changing(project, environment, "undrain") as (reporter, _):
        result = give_back(target, reporter)
    if as_json:
        print_json(result.model_dump(mode="json"))
        return
    what = "is not drained any more" if result.changed else "was not drained"
    now = "it serves" if result.serving else "it is not ready, and serves as soon as it is"
    click.echo(f"{host} {what}; {now}.")
