"""What a server needs beside its cards: cores for engines, a disk for weights."""

from collections.abc import Mapping, Sequence

from warmfleet.errors import PlanRefusedError
from warmfleet.plan.choice import Choice
from warmfleet.plan.gpu_choice import Chosen
from warmfleet.plan.gpu_models import ReplicaPlace
from warmfleet.spec.placement import BaremetalPlacement

__all__ = ["choose_cores", "choose_disk", "must_have_hosts"]

_PROCESSES = 2
"""Of vLLM beside one for each card: HTTP with tokens, and the scheduler."""

_SERVICE_CORES = 1
"""The service in front of an engine, and what else a host runs."""

_REVISIONS = 2
"""The weights that run and those that come next."""

_CORES = "vllm-project/vllm docs/configuration/optimization.md: 2 + N physical cores for N GPUs"


def choose_cores(places: Sequence[ReplicaPlace]) -> Choice[int]:
    """Choose the least number of physical cores of a server with these replicas."""
    cores = _SERVICE_CORES + sum(_PROCESSES + len(place.cards) for place in places)
    return Choice(
        cores,
        f"each replica has {_PROCESSES} processes and one for each of its cards, which starve on "
        f"fewer cores; {_SERVICE_CORES} for the service in front",
        {"replicas": len(places), "cards": sum(len(place.cards) for place in places)},
        _CORES,
    )


def choose_disk(places: Sequence[ReplicaPlace], chosen: Mapping[str, Chosen]) -> Choice[int]:
    """Choose the least bytes of a server's disk for weights."""
    models = dict.fromkeys(place.model for place in places)
    sizes = {
        name: chosen[name].offer.fit.weights * chosen[name].offer.layout.count for name in models
    }
    return Choice(
        _REVISIONS * sum(sizes.values()),
        f"weights of {' and '.join(sizes)}, {_REVISIONS} revisions: the one that runs and the next",
        {f"{name}_bytes": size for name, size in sizes.items()},
        "weights as in models[].memory, over all cards of a replica",
    )


def must_have_hosts(
    placement: BaremetalPlacement, names: Sequence[str], cores: int, disk_bytes: int
) -> None:
    """Refuse leased servers whose contracts have too little of what is beside the cards.

    Raises:
        PlanRefusedError: cores or disk, with the missing amount; what a contract leaves out is
            not checked.
    """
    for index, server in enumerate(placement.servers):
        if server.name not in names:
            continue
        at, contract = f"placement.servers[{index}].contract", server.contract
        if contract.cpu is not None and contract.cpu < cores:
            msg = (
                f"{at}.cpu: {server.name} has {contract.cpu} cores, but its replicas need {cores} "
                f"({cores - contract.cpu} missing); nearest: a server with {cores} cores, or fewer "
                "models on it"
            )
            raise PlanRefusedError(msg)
        disks = [disk.size.bytes for disk in contract.nvme if disk.use == "model"]
        if disks and sum(disks) < disk_bytes:
            there, needed = sum(disks) / 10**9, disk_bytes / 10**9
            msg = (
                f"{at}.nvme: {server.name} has {there:.0f} GB for weights, but two revisions of "
                f"its models are {needed:.0f} GB ({needed - there:.0f} GB missing); nearest: a "
                f"disk of {needed:.0f} GB, or a lower precision"
            )
            raise PlanRefusedError(msg)
