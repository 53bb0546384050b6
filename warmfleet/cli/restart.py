"""``warmfleet restart``."""

import click

from warmfleet.cli.options import host_arguments, json_option
from warmfleet.cli.output import open_log, print_json, progress_console
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
    from warmfleet.deploy.operation import operation
    from warmfleet.deploy.progress import Reporter
    from warmfleet.operate.restart import restart as restart_host
    from warmfleet.operate.target import Target

    project = Project.find()
    target = Target.find(project, environment, host)
    open_log(project, environment, "restart")
    with operation(project, environment), Reporter(progress_console()) as reporter:
        result = restart_host(target, model, reporter)
    if as_json:
        print_json(result.model_dump(mode="json"))
        return
    for name, seconds in result.warm_after_s.items():
        click.echo(f"{name} on {host} is warm, {seconds:.1f} s after its restart.")
    if result.answer is None:
        click.echo(f"It was drained before and stays so: warmfleet undrain {environment} {host}")
    else:
        click.echo(f"It serves: first token {result.answer.ttft_s:.2f} s after the request.")
