"""The host that an operator names, and what is around it."""

from dataclasses import dataclass

from inference_app.problems import nearest
from warmfleet.errors import NameUnknownError, OperationRefusedError, StackError
from warmfleet.inventory.ssh import write_known_hosts
from warmfleet.plan.lock import read_lock
from warmfleet.plan.models import FleetPlan
from warmfleet.project import Project
from warmfleet.stack.credentials import Credentials
from warmfleet.stack.outputs import FleetOutput, HostOutput, HostRole
from warmfleet.stack.workspace import Workspace

__all__ = ["Target"]


@dataclass(frozen=True)
class Target:
    """One host of an environment that is up."""

    project: Project
    environment: str
    plan: FleetPlan
    fleet: FleetOutput
    credentials: Credentials
    host: HostOutput

    @classmethod
    def find(cls, project: Project, environment: str, name: str) -> "Target":
        """Read lock and stack, and write down the pinned keys of its hosts.

        Raises:
            ProjectNotFoundError, NameUnknownError: no such environment, or no such host in it.
            PlanStaleError: its lock is missing or not readable.
            StackError: the environment is not up.
        """
        project.spec_file(environment)
        plan = read_lock(project.plan_file(environment))
        _must_be_one_of(name, [host.name for host in plan.hosts], environment)
        fleet = Workspace(project, environment).fleet()
        if fleet is None:
            msg = f"environment {environment!r} is not up; run `warmfleet up {environment}`"
            raise StackError(msg)
        host = next((host for host in fleet.hosts if host.name == name), None)
        if host is None:
            msg = f"host {name} is planned, but not there yet; run `warmfleet up {environment}`"
            raise StackError(msg)
        credentials = Credentials(project.environment_state(environment))
        write_known_hosts(fleet, credentials)
        return cls(project, environment, plan, fleet, credentials, host)

    @property
    def gateways(self) -> list[HostOutput]:
        """The gateways of the host's site, which are the ones that send it requests."""
        site = next(site for site in self.fleet.sites if self.host in site.hosts)
        return [host for host in site.hosts if host.role is HostRole.GATEWAY]

    @property
    def is_gateway(self) -> bool:
        """True for a host that clients connect to."""
        return self.host.role is HostRole.GATEWAY

    def must_be_replica(self, verb: str) -> None:
        """Refuse what makes no sense for a gateway.

        Raises:
            OperationRefusedError: it is one.
        """
        if self.is_gateway:
            msg = (
                f"found {self.host.name}, a gateway: clients connect to it, and no balancing could "
                f"spare it; needed: a replica to {verb}; to make the gateway anew: "
                f"warmfleet replace {self.environment} {self.host.name}"
            )
            raise OperationRefusedError(msg)


def _must_be_one_of(name: str, names: list[str], environment: str) -> None:
    if name in names:
        return
    hint = nearest(name, names) or f"; hosts: {', '.join(names)}"
    msg = f"environment {environment} has no host {name!r}{hint}"
    raise NameUnknownError(msg)
