"""``InferenceSite``: the hosts of one region, their network, and the line to the users."""

from dataclasses import dataclass
from typing import Any

import pulumi

from warmfleet.plan.models import HostPlan, SitePlan
from warmfleet.provider.backend import owner_of
from warmfleet.stack.outputs import (
    BandwidthOutput,
    HostOutput,
    HostRole,
    SiteOutput,
    SshOutput,
)
from warmfleet.stack.resources import BandwidthContract, LabHost, LabNetwork

__all__ = ["InferenceSite", "InferenceSiteArgs"]

_SSH_PORT = 22
_CONTRACT = {"region", "line", "carriers", "committed_mbps", "burst_mbps"}
"""What is ordered; the rest of the plan's line says why, and what it costs."""
_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class InferenceSiteArgs:
    """What a site is made of."""

    environment: str
    plan: SitePlan
    image: str
    """Container image of the lab's hosts."""
    authorized_key: str
    """Public SSH key that every host lets in."""


class InferenceSite(pulumi.ComponentResource):
    """One region; ``output`` is a ``SiteOutput`` as a dict."""

    output: pulumi.Output[dict[str, Any]]

    def __init__(
        self, name: str, args: InferenceSiteArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("warmfleet:index:InferenceSite", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        self.bandwidth = BandwidthContract(
            f"{name}-bandwidth",
            environment=args.environment,
            **args.plan.bandwidth.model_dump(include=_CONTRACT),
            opts=child,
        )
        network = LabNetwork(
            f"{name}-network",
            environment=args.environment,
            owner=owner_of(args.authorized_key),
            subnet=args.plan.subnet,
            opts=child,
        )
        # The provider asks for the same; a replacement that a person asks for does not ask it.
        host_child = pulumi.ResourceOptions(parent=self, delete_before_replace=True)
        hosts = [
            LabHost(
                f"{name}-{host.name}",
                environment=args.environment,
                name=host.name,
                image=args.image,
                network=network.name,
                private_address=host.private_address,
                cpus=host.cpus,
                memory_mb=host.memory_mb,
                published_ports=host.published_ports,
                authorized_key=args.authorized_key,
                opts=host_child,
            )
            for host in args.plan.hosts
        ]
        keys = pulumi.Output.all(*(host.host_key for host in hosts))
        self.output = keys.apply(lambda found: _output(args.plan, found))
        self.register_outputs({"output": self.output})


def _output(plan: SitePlan, host_keys: list[str]) -> dict[str, Any]:
    output = SiteOutput(
        name=plan.name,
        region=plan.region,
        bandwidth=BandwidthOutput(
            committed_mbps=plan.bandwidth.committed_mbps,
            burst_mbps=plan.bandwidth.burst_mbps,
            carriers=plan.bandwidth.carriers,
        ),
        hosts=[_host(host, key) for host, key in zip(plan.hosts, host_keys, strict=True)],
    )
    return output.model_dump(mode="json")


def _host(plan: HostPlan, host_key: str) -> HostOutput:
    return HostOutput(
        name=plan.name,
        role=HostRole(plan.role.value),
        ssh=SshOutput(
            address=_LOOPBACK,
            port=plan.published_ports[_SSH_PORT],
            user="root",
            host_key=host_key,
        ),
        private_address=plan.private_address,
        published_ports=plan.published_ports,
    )
