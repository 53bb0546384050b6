"""``warmfleet plan``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from warmfleet.cli.options import DEFAULT_ENVIRONMENT, EnvironmentType, json_option
from warmfleet.cli.output import print_json, result_console, write_result
from warmfleet.cli.plan_target import find_target, plan_target
from warmfleet.project import Project

if TYPE_CHECKING:
    from warmfleet.plan.lock import AnyPlan

__all__ = ["plan"]


@click.command()
@click.argument("target", type=EnvironmentType(), default=DEFAULT_ENVIRONMENT)
@click.option("--write", is_flag=True, help="Write the plan to plans/ENV.json.")
@click.option("--check", is_flag=True, help="Exit 3 when plans/ENV.json is stale.")
@click.option("--explain", metavar="FIELD", help="Show one choice: its numbers and their source.")
@click.option("--markdown", is_flag=True, help="Print a page for a pull request.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a page with a map and all arithmetic.",
)
@click.option(
    "--refresh", is_flag=True, help="Ask hubs, logs and probes again; else the lock's facts hold."
)
@json_option
def plan(
    target: str,
    write: bool,
    check: bool,
    explain: str | None,
    markdown: bool,
    html: Path | None,
    refresh: bool,
    as_json: bool,
) -> None:
    """Plan TARGET, an environment of the project or a spec file (default: lab).

    Every choice is printed with its reason. Nothing is rented or changed.
    """
    from warmfleet.plan import lock

    if write and check:
        msg = "--write and --check exclude each other"
        raise click.UsageError(msg, click.get_current_context())
    if (markdown or html) and (as_json or explain or (markdown and html)):
        msg = "--markdown and --html are forms of their own: leave out --json and --explain"
        raise click.UsageError(msg, click.get_current_context())
    if refresh and check:
        msg = "--check compares with the lock's facts: leave out --refresh"
        raise click.UsageError(msg, click.get_current_context())
    project, environment, _ = find_target(target)
    if check:
        project, environment = _environment(project, environment, "--check")
        planned = lock.check_any_lock(project, environment)
    else:
        planned = plan_target(target, refresh=refresh)
    if write:
        project, environment = _environment(project, environment, "--write")
        lock.write_lock(planned, project.plan_file(environment))
        click.echo(f"wrote {project.plan_file(environment)}", err=True)
    if html is not None:
        from warmfleet.catalog.load import load_catalog
        from warmfleet.plan.html_page import render_html

        write_result(render_html(planned, load_catalog()), html)
    elif markdown:
        from warmfleet.plan.page import render_page

        click.echo(render_page(planned), nl=False)
    else:
        _show(planned, explain=explain, as_json=as_json)
    if check:
        click.echo(f"plan {environment} is what its spec gives", err=True)


def _environment(
    project: Project | None, environment: str | None, option: str
) -> tuple[Project, str]:
    if project is None or environment is None:
        msg = f"{option} needs an environment: a spec in the folder specs beside Pulumi.yaml"
        raise click.UsageError(msg, click.get_current_context())
    return project, environment


def _show(planned: "AnyPlan", *, explain: str | None, as_json: bool) -> None:
    if explain is not None:
        from warmfleet.cli.decision_view import decisions_of, print_explanations

        decisions = decisions_of(planned.decisions, explain)
        if as_json:
            print_json([decision.model_dump(mode="json") for decision in decisions])
        else:
            print_explanations(result_console(), decisions)
    elif as_json:
        print_json(planned.model_dump(mode="json"))
    elif planned.kind == "lab":
        from warmfleet.cli.plan_view import print_plan

        print_plan(result_console(), planned)
    else:
        from warmfleet.cli.gpu_plan_view import print_gpu_plan

        print_gpu_plan(result_console(), planned)
