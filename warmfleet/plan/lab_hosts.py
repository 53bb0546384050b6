"""Hosts of the lab: a gateway and replicas in one private network, ports on loopback only."""

from ipaddress import IPv4Network

from warmfleet.catalog.models import HostSize
from warmfleet.errors import PlanRefusedError
from warmfleet.plan.models import EndpointPlan, HostPlan, HostRole
from warmfleet.spec.placement import LabPlacement

__all__ = ["lab_endpoint", "lab_hosts"]

_LOOPBACK = "127.0.0.1"
_SSH, _HTTPS = 22, 443

# Offsets in the subnet; the network itself takes .1 for the machine that the hosts run on.
_GATEWAY, _FIRST_REPLICA = 2, 11


def lab_endpoint(placement: LabPlacement) -> EndpointPlan:
    """Return where clients on this machine connect."""
    return EndpointPlan(
        address=_LOOPBACK, port=placement.port, server_names=["localhost", _LOOPBACK]
    )


def lab_hosts(
    placement: LabPlacement, *, replicas: int, gateway: HostSize, replica: HostSize
) -> list[HostPlan]:
    """Return all hosts; host ``n`` has SSH on the loopback port ``ssh_port + n``.

    Raises:
        PlanRefusedError: the endpoint's port is one of the SSH ports, or those leave the range.
    """
    ssh_ports = range(placement.ssh_port, placement.ssh_port + replicas + 1)
    if placement.port in ssh_ports:
        msg = (
            f"placement.port: {placement.port} is one of the SSH ports {ssh_ports[0]} to "
            f"{ssh_ports[-1]}; nearest: {ssh_ports[-1] + 1}"
        )
        raise PlanRefusedError(msg)
    if ssh_ports[-1] > 65535:
        msg = (
            f"placement.ssh_port: {len(ssh_ports)} hosts from {placement.ssh_port} on need port "
            f"{ssh_ports[-1]}; nearest: {65535 - replicas}"
        )
        raise PlanRefusedError(msg)
    return [
        HostPlan(
            name="gw-1",
            role=HostRole.GATEWAY,
            cpus=gateway.cpus,
            memory_mb=gateway.memory_mb,
            private_address=_address(placement.subnet, _GATEWAY),
            published_ports={_SSH: ssh_ports[0], _HTTPS: placement.port},
        ),
        *(
            HostPlan(
                name=f"replica-{index + 1}",
                role=HostRole.REPLICA,
                cpus=replica.cpus,
                memory_mb=replica.memory_mb,
                private_address=_address(placement.subnet, _FIRST_REPLICA + index),
                published_ports={_SSH: ssh_ports[index + 1]},
            )
            for index in range(replicas)
        ),
    ]


def _address(subnet: IPv4Network, offset: int) -> str:
    return str(subnet.network_address + offset)
