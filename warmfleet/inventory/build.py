"""The inventory in the shape of ``ansible-inventory --list``; no secret is in it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from warmfleet.errors import StackError
from warmfleet.inventory.models import (
    GatewayInputs,
    HostInputs,
    Port,
    ProxyReplica,
    Release,
    ReplicaInputs,
    Seconds,
    ServiceModel,
    StoredModel,
)
from warmfleet.inventory.service import (
    ADMIN_PORT,
    GATEWAY_ADMIN_PORT,
    MODEL_ROOT,
    TRAFFIC_PORT,
    service_settings,
)
from warmfleet.inventory.ssh import connection, write_known_hosts
from warmfleet.plan.models import FleetPlan, ModelPlan
from warmfleet.project import Project
from warmfleet.stack.credentials import Credentials
from warmfleet.stack.outputs import FleetOutput, HostOutput, HostRole, SiteOutput

__all__ = ["build_inventory"]

_TLS_PORT = 443
_SSH_PORT = 22


def build_inventory(
    project: Project,
    plan: FleetPlan,
    fleet: FleetOutput,
    wheelhouse: Release,
    weights: Mapping[str, Path],
) -> dict[str, Any]:
    """Return groups and host variables; write the pinned host keys where ssh looks for them.

    Groups are ``gateways``, ``replicas``, and ``site_NAME`` for each site. ``weights`` has the
    file of each model by name.

    Raises:
        StackError: the stack was brought up from another plan.
    """
    _check_same_hosts(plan, fleet)
    environment = plan.environment
    credentials = Credentials(project.environment_state(environment))
    write_known_hosts(fleet, credentials)
    variables: dict[str, dict[str, Any]] = {}
    for site in fleet.sites:
        for host in site.hosts:
            variables[host.name] = connection(host, credentials).model_dump(mode="json")
            ports = HostInputs(host_baseline_ports=_ports(plan, site, host))
            variables[host.name] |= ports.model_dump(mode="json", exclude_none=True)
            if host.role is HostRole.REPLICA:
                inputs = _replica_inputs(plan, site, host, wheelhouse, weights)
                variables[host.name] |= inputs.model_dump(mode="json")
            else:
                gateway = _gateway_inputs(plan, site)
                variables[host.name] |= gateway.model_dump(mode="json")
    shared = {"warmfleet_environment": environment, "warmfleet_project": str(project.root)}
    return {
        "_meta": {"hostvars": variables},
        "all": {"vars": shared, "children": ["gateways", "replicas", *map(_group, fleet.sites)]},
        **{f"{role.value}s": {"hosts": _names(fleet.hosts, role)} for role in HostRole},
        **{_group(site): {"hosts": [host.name for host in site.hosts]} for site in fleet.sites},
    }


def _check_same_hosts(plan: FleetPlan, fleet: FleetOutput) -> None:
    planned = {host.name for host in plan.hosts}
    present = {host.name for host in fleet.hosts}
    if planned != present:
        msg = (
            f"stack {fleet.environment} has hosts {', '.join(sorted(present)) or 'none'}; the plan "
            f"has {', '.join(sorted(planned))}; run warmfleet up {plan.environment}"
        )
        raise StackError(msg)


def _ports(plan: FleetPlan, site: SiteOutput, host: HostOutput) -> list[Port]:
    """Return what a host lets in: all that its roles listen on, and from whom."""
    ssh = Port(name="ssh", port=_SSH_PORT)
    if host.role is HostRole.GATEWAY:
        return [ssh, Port(name="https", port=_TLS_PORT)]
    gateways = [other.private_address for other in site.hosts if other.role is HostRole.GATEWAY]
    return [
        ssh,
        *(
            Port(name=f"{kind} {model.name}", port=first + index, sources=gateways)
            for index, model in enumerate(plan.models)
            for kind, first in (("traffic", TRAFFIC_PORT), ("admin", ADMIN_PORT))
        ),
    ]


def _replica_inputs(
    plan: FleetPlan,
    site: SiteOutput,
    host: HostOutput,
    wheelhouse: Release,
    weights: Mapping[str, Path],
) -> ReplicaInputs:
    return ReplicaInputs(
        model_store_root=str(MODEL_ROOT),
        model_store_models=[_stored(model, weights[model.name]) for model in plan.models],
        inference_service_models=[
            ServiceModel(
                name=model.name,
                settings=service_settings(model, plan.timeouts, host, index, wheelhouse.digest),
                start_timeout_s=_seconds(plan.timeouts.systemd_start_s),
                stop_timeout_s=_seconds(plan.timeouts.systemd_stop_s),
            )
            for index, model in enumerate(plan.models)
        ],
        inference_service_wheelhouse=str(wheelhouse.path),
        inference_service_requirement=wheelhouse.requirement,
        inference_service_release=wheelhouse.digest,
        inference_service_gateways=_names(site.hosts, HostRole.GATEWAY),
        inference_service_gateway_admin_port=GATEWAY_ADMIN_PORT,
        inference_service_floor=plan.updates.floor,
    )


def _stored(model: ModelPlan, file: Path) -> StoredModel:
    return StoredModel(
        name=model.name,
        revision=model.revision,
        file_name=model.file_name,
        sha256=model.sha256,
        size_bytes=model.size_bytes,
        source=str(file),
    )


def _gateway_inputs(plan: FleetPlan, site: SiteOutput) -> GatewayInputs:
    replicas = [host for host in site.hosts if host.role is HostRole.REPLICA]
    chain = plan.timeouts
    return GatewayInputs(
        edge_proxy_listen_port=_TLS_PORT,
        edge_proxy_admin_port=GATEWAY_ADMIN_PORT,
        edge_proxy_server_names=plan.endpoint.server_names,
        edge_proxy_replicas=[
            ProxyReplica(
                name=host.name,
                model=model.name,
                address=host.private_address,
                port=TRAFFIC_PORT + index,
                admin_port=ADMIN_PORT + index,
                server_name=host.name,
            )
            for host in replicas
            for index, model in enumerate(plan.models)
        ],
        edge_proxy_read_timeout_s=_seconds(chain.proxy_read_s),
        edge_proxy_send_timeout_s=_seconds(chain.proxy_send_s),
        edge_proxy_connect_timeout_s=_seconds(chain.proxy_connect_s),
        edge_proxy_keepalive_s=_seconds(chain.proxy_keepalive_s),
        edge_proxy_client_keepalive_s=_seconds(chain.client_keepalive_s),
        edge_proxy_backend_keepalive_s=_seconds(chain.service_keepalive_s),
        edge_proxy_generation_s=_seconds(chain.generation_s),
        edge_proxy_probe_interval_s=_seconds(chain.probe_interval_s),
        edge_proxy_queue_timeout_s=_seconds(chain.queue_s),
        # As many as the site takes at once when its replicas are back.
        edge_proxy_queue_size=len(replicas) * sum(m.limits.max_in_flight for m in plan.models),
        edge_proxy_max_body_bytes=max(model.limits.max_body_bytes for model in plan.models),
    )


def _seconds(value: float) -> Seconds:
    return int(value) if value.is_integer() else value


def _group(site: SiteOutput) -> str:
    return "site_" + site.name.replace("-", "_")


def _names(hosts: list[HostOutput], role: HostRole) -> list[str]:
    return [host.name for host in hosts if host.role is role]
