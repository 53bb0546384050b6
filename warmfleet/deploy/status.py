"""What is there and how it is: hosts of the stack, replicas as they say themselves."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from warmfleet.errors import StackError
from warmfleet.plan.lock import read_lock
from warmfleet.plan.models import FleetPlan
from warmfleet.plan.start_models import ColdStartPlan
from warmfleet.project import Project
from warmfleet.stack.credentials import Credentials
from warmfleet.stack.outputs import FleetOutput
from warmfleet.stack.workspace import Workspace
from warmfleet.telemetry.scrape import ReplicaStatus, scrape_replicas

__all__ = ["FleetStatus", "HostStatus", "read_status", "status_of"]


class HostStatus(BaseModel):
    """One host of the stack."""

    model_config = ConfigDict(frozen=True)

    name: str
    role: str
    site: str
    ssh: str
    private_address: str


class FleetStatus(BaseModel):
    """Everything `warmfleet status` shows; the field names are a contract with scripts."""

    model_config = ConfigDict(frozen=True)

    environment: str
    endpoint: str
    ca_file: Path
    api_key_file: Path
    hosts: list[HostStatus]
    replicas: list[ReplicaStatus]
    cold_starts: dict[str, ColdStartPlan] = Field(
        default_factory=dict, description="as planned, by model: what ledgers are held against"
    )

    @property
    def drained(self) -> list[str]:
        """Hosts that an operator took out of the balancing."""
        return list(dict.fromkeys(replica.host for replica in self.replicas if replica.drained))

    @property
    def ready(self) -> bool:
        """True when every replica is warm, drained or not."""
        return bool(self.replicas) and all(replica.state == "ready" for replica in self.replicas)


def read_status(project: Project, environment: str) -> FleetStatus:
    """Read the stack's output and ask every replica.

    Raises:
        ProjectNotFoundError: no such environment.
        StackError: the environment is not up.
        PlanStaleError: its lock is missing or not readable.
    """
    project.spec_file(environment)
    plan = read_lock(project.plan_file(environment))
    fleet = Workspace(project, environment).fleet()
    if fleet is None:
        msg = f"environment {environment!r} is not up; run `warmfleet up {environment}`"
        raise StackError(msg)
    credentials = Credentials.ensure_for(project, plan)
    return status_of(plan, fleet, credentials)


def status_of(plan: FleetPlan, fleet: FleetOutput, credentials: Credentials) -> FleetStatus:
    """Ask every replica of a fleet that is up."""
    return FleetStatus(
        environment=fleet.environment,
        endpoint=fleet.endpoint,
        ca_file=credentials.ca_file,
        api_key_file=credentials.api_key_file,
        hosts=[
            HostStatus(
                name=host.name,
                role=host.role.value,
                site=site.name,
                ssh=f"{host.ssh.user}@{host.ssh.address}:{host.ssh.port}",
                private_address=host.private_address,
            )
            for site in fleet.sites
            for host in site.hosts
        ],
        replicas=scrape_replicas(fleet, plan, credentials),
        cold_starts={model.name: model.cold_start for model in plan.models},
    )
