"""Contracts of leased servers against what a group of servers needs beside its cards."""

import math
from collections.abc import Callable, Iterator, Sequence

from warmfleet.catalog.servers import sizes
from warmfleet.errors import PlanRefusedError
from warmfleet.plan.gpu_models import ServerGroupPlan
from warmfleet.plan.models import BandwidthPlan
from warmfleet.spec.placement import BaremetalPlacement
from warmfleet.spec.servers import ContractSpec, DiskSpec

__all__ = ["must_have_hosts"]


def must_have_hosts(
    placement: BaremetalPlacement, groups: Sequence[ServerGroupPlan], line: BandwidthPlan
) -> None:
    """Refuse leased servers of a site whose contracts have too little of what they need.

    Raises:
        PlanRefusedError: cores, memory, disks or link, with the missing amount; what a contract
            leaves out is not checked.
    """
    servers = sum(group.count for group in groups)
    # With one of several away the others carry the whole line.
    share_mbps = line.burst_mbps / max(1, servers - 1)
    needs = {name: group for group in groups for name in group.servers}
    for index, server in enumerate(placement.servers):
        if (group := needs.get(server.name)) is None:
            continue
        said = next(_short(server.name, server.contract, group, share_mbps), None)
        if said is not None:
            msg = f"placement.servers[{index}].contract.{said}"
            raise PlanRefusedError(msg)


def _short(
    name: str, contract: ContractSpec, group: ServerGroupPlan, share_mbps: float
) -> Iterator[str]:
    host = group.host
    if contract.cpu is not None and (missing := host.least_cores - contract.cpu) > 0:
        yield (
            f"cpu: {name} has {contract.cpu} core{'s' if contract.cpu > 1 else ''}, but its "
            f"replicas need {host.least_cores} ({missing} missing); nearest: a server with "
            f"{host.least_cores} cores, or fewer models on it"
        )
    if contract.ram is not None and contract.ram.bytes < host.least_memory_bytes:
        needed = host.least_memory_bytes
        yield (
            f"ram: {name} has {_gb(contract.ram.bytes, math.floor)} GB, but the weights of its "
            f"replicas need {_gb(needed)} GB ({_gb(needed - contract.ram.bytes)} GB missing); "
            f"nearest: {_gb(sizes('memory').at_least(needed))} GB, or a lower precision"
        )
    models = [disk for disk in contract.nvme if disk.use == "model"]
    if models and (there := _size(models)) < (needed := host.model_disk.least_bytes):
        yield (
            f"nvme: {name} has {_gb(there, math.floor)} GB for weights, but two revisions of its "
            f"models are {_gb(needed)} GB ({_gb(needed - there)} GB missing); nearest: a disk of "
            f"{_gb(sizes('disk').at_least(needed))} GB, or a lower precision"
        )
    others = [disk for disk in contract.nvme if disk.use != "model"]
    if others and (there := _size(others)) < (needed := host.data_disk.least_bytes):
        yield (
            f"nvme: {name} has {_gb(there, math.floor)} GB for system and data, but system, "
            f"engines and logs are {_gb(needed)} GB ({_gb(needed - there)} GB missing); nearest: "
            f"a disk of {_gb(sizes('disk').at_least(needed))} GB"
        )
    if contract.link is not None and (link := float(contract.link.mbps)) < share_mbps:
        yield (
            f"link: {name} has {contract.link}, but its share of the line in a burst, with one "
            f"server away, is {share_mbps:.3g} Mbps ({share_mbps - link:.3g} Mbps missing); "
            f"nearest: a link of {share_mbps:.3g} Mbps, or one server more"
        )


def _size(disks: Sequence[DiskSpec]) -> int:
    return sum(disk.size.bytes for disk in disks)


def _gb(size: float, rounded: Callable[[float], int] = math.ceil) -> str:
    """In tenths: what is needed is rounded up, and what is there down, so that both differ."""
    return f"{rounded(size / 10**8) / 10:g}"
