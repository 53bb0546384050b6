"""``warmfleet restart``."""

import click

from warmfleet.cli.change import changing
from warmfleet.cli.options import host_arguments, json_option
from warmfleet.cli.output import print_json, print_serving
from warmfleet.project import Project

__all__ = ["restart"]


@click.command(short_help="Restart a host's services; no request notices.")
@host_arguments
@click.option("--model", metavar="NAME", help="Only the service of this model; all when absent.")
@json_option
def restart(environment: str, host: str, model: str | None, as_json: bool) -> None:
    """Drain HOST of ENVIRONMENT, restart its services, wait until they are warm, undrain it.

    Ends when HOST has answered a request through the gateway. A host that was drained before stays
    drained, and so does one whose service does not get warm (exit status 1).
    """
    from warmfleet.operate.restart import restart as restart_host
    from warmfleet.operate.target import Target

    project = Project.find()
    target = Target.find(project, environment, host)
    with changing(project, environment, "restart") as (reporter, _):
        result = restart_host(target, model, reporter)
    if as_json:
        print_json(result.model_dump(mode="json"))
        return
    for name, seconds in result.warm_after_s.items():
        click.echo(f"{name} on {host} is warm, {seconds:.1f} s after its restart.")
    print_serving(environment, host, result.answer.ttft_s if result.answer else None)
