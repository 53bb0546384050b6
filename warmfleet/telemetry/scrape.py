"""State and cold-start ledger of every replica, read from its admin port."""

import ssl
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from warmfleet.errors import HostUnreachableError, StackError
from warmfleet.inventory.service import ADMIN_PORT
from warmfleet.plan.models import FleetPlan
from warmfleet.stack.credentials import Credentials
from warmfleet.stack.outputs import FleetOutput, HostOutput, HostRole
from warmfleet.telemetry.balancing import BalancedReplica, read_balancing
from warmfleet.telemetry.ledger import Ledger
from warmfleet.telemetry.tls_stream import client_context
from warmfleet.telemetry.tunnel import Tunnel

__all__ = ["UNREACHABLE", "ReplicaStatus", "scrape_replicas"]

UNREACHABLE = "unreachable"
"""State of a replica that says nothing; all other states are its own words."""

_AT_ONCE = 16


class ReplicaStatus(BaseModel):
    """One model on one host."""

    model_config = ConfigDict(frozen=True)

    host: str
    model: str
    state: str = Field(description="the service's own, or unreachable")
    revision: str | None = None
    drained: bool | None = Field(
        default=None, description="taken out by an operator; null when no gateway could say"
    )
    coldstart: Ledger | None = None
    error: str | None = Field(default=None, description="why something could not be read")


def scrape_replicas(
    fleet: FleetOutput, plan: FleetPlan, credentials: Credentials
) -> list[ReplicaStatus]:
    """Ask every replica, all hosts at the same time; hosts in order, then models.

    Never raises for a host: one that does not answer is ``unreachable``, with the reason. Bounded
    by the time-outs of one host.
    """
    hosts = {role: [host for host in fleet.hosts if host.role is role] for role in HostRole}
    models = [model.name for model in plan.models]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        known = pool.map(lambda host: _ask_gateway(host, credentials), hosts[HostRole.GATEWAY])
        found = pool.map(
            lambda host: list(_scrape_host(host, models, credentials)), hosts[HostRole.REPLICA]
        )
        drained: dict[str, bool] = {}
        for replica in (replica for replicas in known for replica in replicas):
            drained[replica.name] = drained.get(replica.name, False) or replica.drained
        return [
            status.model_copy(update={"drained": drained.get(status.host)})
            for statuses in found
            for status in statuses
        ]


def _ask_gateway(host: HostOutput, credentials: Credentials) -> list[BalancedReplica]:
    try:
        with Tunnel.open(host, credentials) as tunnel:
            return read_balancing(tunnel)
    except HostUnreachableError:
        return []


def _scrape_host(
    host: HostOutput, models: list[str], credentials: Credentials
) -> Iterator[ReplicaStatus]:
    try:
        with Tunnel.open(host, credentials) as tunnel:
            tls = client_context(credentials)
            for index, model in enumerate(models):
                yield _scrape_service(tunnel, tls, host, model, ADMIN_PORT + index)
    except (HostUnreachableError, StackError) as error:
        for model in models:
            yield ReplicaStatus(host=host.name, model=model, state=UNREACHABLE, error=str(error))


def _scrape_service(
    tunnel: Tunnel, tls: ssl.SSLContext, host: HostOutput, model: str, port: int
) -> ReplicaStatus:
    address = host.private_address
    try:
        _, ready = tunnel.get_json(address, port, "/readyz", tls)
        _, account = tunnel.get_json(address, port, "/coldstart", tls)
    except HostUnreachableError as error:
        return ReplicaStatus(host=host.name, model=model, state=UNREACHABLE, error=str(error))
    if not isinstance(ready, dict) or not isinstance(ready.get("state"), str):
        msg = f"host {host.name}: {address}:{port}/readyz names no state; is it another program?"
        return ReplicaStatus(host=host.name, model=model, state=UNREACHABLE, error=msg)
    status = ReplicaStatus(
        host=host.name, model=model, state=ready["state"], revision=ready.get("revision")
    )
    try:
        return status.model_copy(update={"coldstart": Ledger.model_validate(account)})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "document"
        msg = f"host {host.name}: its ledger is not readable: {where}: {first['msg']}"
        return status.model_copy(update={"error": msg})
