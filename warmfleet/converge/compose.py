"""All that a run of the playbook needs, gathered: lock, stack output, wheels, weights."""

from dataclasses import dataclass
from typing import Any

from warmfleet.converge.packages import Progress
from warmfleet.converge.weights import ensure_weights
from warmfleet.converge.wheelhouse import ensure_wheelhouse
from warmfleet.errors import StackError
from warmfleet.inventory.build import build_inventory
from warmfleet.plan.lock import read_lock
from warmfleet.plan.models import HostRole
from warmfleet.project import Project
from warmfleet.stack.credentials import Credentials
from warmfleet.stack.outputs import FleetOutput
from warmfleet.stack.workspace import Workspace

__all__ = ["Composed", "compose_inventory"]


@dataclass(frozen=True)
class Composed:
    """The hosts and what their roles are given, in the shape of ``ansible-inventory --list``."""

    fleet: FleetOutput
    inventory: dict[str, Any]
    limit_s: float
    """How long waiting for services may take at worst: replicas are started one after another."""


def compose_inventory(project: Project, environment: str, progress: Progress) -> Composed:
    """Gather the inventory of an environment that is up.

    Raises:
        ProjectNotFoundError: no such environment.
        PlanStaleError: its lock is missing or not readable.
        StackError: the stack is not up.
        ConvergeError: wheels or weights could not be fetched.
    """
    project.spec_file(environment)
    plan = read_lock(project.plan_file(environment))
    fleet = Workspace(project, environment).fleet()
    if fleet is None:
        msg = (
            f"environment {environment!r} is not up: its stack has no output; "
            f"run warmfleet up {environment} (or pulumi up -s {environment} in {project.root})"
        )
        raise StackError(msg)
    Credentials.ensure_for(project, plan)
    weights = {model.name: ensure_weights(project, model, progress) for model in plan.models}
    house = ensure_wheelhouse(project, progress)
    starts = sum(host.role is HostRole.REPLICA for host in plan.hosts) * len(plan.models)
    chain = plan.timeouts
    return Composed(
        fleet=fleet,
        inventory=build_inventory(project, plan, fleet, house, weights),
        limit_s=starts * (chain.systemd_start_s + chain.systemd_stop_s),
    )
