"""``warmfleet logs``."""

import json
from contextlib import closing

import click

from warmfleet.cli.options import host_arguments
from warmfleet.project import Project

__all__ = ["logs"]

_LOGS = ["inference", "nginx", "access", "error", "system"]


@click.command(short_help="Read a host's logs.")
@host_arguments
@click.option(
    "--unit",
    type=click.Choice(_LOGS),
    help="Services, the proxy's unit, its access or error log, or the whole journal. Default: "
    "inference; error on a gateway.",
)
@click.option("-f", "--follow", is_flag=True, help="Go on as lines come, until Ctrl-C.")
@click.option("--since", metavar="TIME", help="10m, 2h, 1d ago, or '2026-11-30 03:00' there.")
@click.option("-n", "--lines", type=click.IntRange(min=0), help="The last N lines. Default: 100.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def logs(
    environment: str,
    host: str,
    unit: str | None,
    follow: bool,
    since: str | None,
    lines: int | None,
    as_json: bool,
) -> None:
    """Show logs of HOST of ENVIRONMENT, oldest line first, read there over SSH.

    Keys of the environment are never shown, whatever is in the logs.
    """
    from warmfleet.operate.logs import SINCE, Log, default_log, read_log
    from warmfleet.operate.target import Target

    ctx = click.get_current_context()
    if since is not None and not SINCE.fullmatch(since):
        msg = f"--since: found {since!r}; needed: 10m, 2h, 1d, or '2026-11-30 03:00'"
        raise click.UsageError(msg, ctx)
    target = Target.find(Project.find(), environment, host)
    log = Log(unit) if unit else default_log(target)
    if log.is_file and since is not None:
        msg = f"--since is for journals, and {log} is a file; use --lines, or --unit nginx"
        raise click.UsageError(msg, ctx)
    found = read_log(target, log, lines=lines, since=since, follow=follow)
    with closing(found):
        try:
            for line in found:
                told = {"host": host, "log": log.value, "line": line}
                click.echo(json.dumps(told, ensure_ascii=False) if as_json else line)
        except KeyboardInterrupt:
            if not follow:  # to follow has no other end
                raise
