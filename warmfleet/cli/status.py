"""``warmfleet status``."""

from datetime import date
from typing import TYPE_CHECKING

import click

from warmfleet.cli.options import environment_argument, json_option
from warmfleet.cli.output import print_json, result_console
from warmfleet.project import Project

if TYPE_CHECKING:
    from warmfleet.plan.gpu_models import GpuFleetPlan

__all__ = ["status"]


@click.command(short_help="Show hosts, replicas and their cold-start ledgers.")
@environment_argument
@json_option
def status(environment: str, as_json: bool) -> None:
    """Show hosts and replicas of ENVIRONMENT as they are now.

    A replica that does not answer is shown as unreachable with the reason; that is a result, not a
    failure of this command. Of leased servers it shows the leases, and warns of those that end.
    """
    from warmfleet.plan.lock import read_any_lock

    project = Project.find()
    project.spec_file(environment)
    plan = read_any_lock(project.plan_file(environment))
    if plan.kind == "baremetal":
        _show_leases(plan, as_json=as_json)
        return
    from warmfleet.deploy.render import render_status
    from warmfleet.deploy.status import read_status

    found = read_status(project, environment)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        render_status(found, result_console())


def _show_leases(plan: "GpuFleetPlan", *, as_json: bool) -> None:
    from warmfleet.cli.lease_view import print_leases
    from warmfleet.deploy.leases import leases_of

    # The one place that asks what day it is: plans must not depend on it.
    found = leases_of(plan, date.today())
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        print_leases(result_console(), found)
