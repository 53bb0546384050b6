"""Resources of the provider ``warmfleet``, as a Pulumi program sees them."""

from collections.abc import Mapping, Sequence

import pulumi

__all__ = ["BandwidthContract", "LabHost", "LabNetwork"]


class LabNetwork(pulumi.CustomResource):
    """The private network of a lab's hosts; ``name`` is podman's name for it."""

    name: pulumi.Output[str]

    def __init__(
        self,
        resource_name: str,
        *,
        environment: str,
        owner: str,
        subnet: str,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(
            "warmfleet:index:LabNetwork",
            resource_name,
            {"environment": environment, "owner": owner, "subnet": subnet, "name": None},
            opts,
        )


class LabHost(pulumi.CustomResource):
    """A systemd container that stands for a server; ``host_key`` is to be pinned."""

    container_id: pulumi.Output[str]
    host_key: pulumi.Output[str]
    started: pulumi.Output[bool]

    def __init__(
        self,
        resource_name: str,
        *,
        environment: str,
        name: str,
        image: str,
        network: pulumi.Input[str],
        private_address: str,
        cpus: float,
        memory_mb: int,
        published_ports: Mapping[int, int],
        authorized_key: str,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(
            "warmfleet:index:LabHost",
            resource_name,
            {
                "environment": environment,
                "name": name,
                "image": image,
                "network": network,
                "private_address": private_address,
                "cpus": cpus,
                "memory_mb": memory_mb,
                # The keys of a property map are text.
                "published_ports": {str(k): port for k, port in published_ports.items()},
                "authorized_key": authorized_key,
                "container_id": None,
                "host_key": None,
                "started": None,
            },
            opts,
        )


class BandwidthContract(pulumi.CustomResource):
    """The line of a site: rates in Mbps as ordered."""

    committed_mbps: pulumi.Output[int]
    burst_mbps: pulumi.Output[int]
    carriers: pulumi.Output[Sequence[str]]

    def __init__(
        self,
        resource_name: str,
        *,
        environment: str,
        region: str,
        line: str,
        carriers: Sequence[str],
        committed_mbps: int,
        burst_mbps: int,
        reference: str | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__(
            "warmfleet:index:BandwidthContract",
            resource_name,
            {
                "environment": environment,
                "region": region,
                "line": line,
                "carriers": list(carriers),
                "committed_mbps": committed_mbps,
                "burst_mbps": burst_mbps,
                "reference": reference,
            },
            opts,
        )
