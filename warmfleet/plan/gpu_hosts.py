"""What a server needs beside its cards: cores for engines, memory, the system's disk."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from warmfleet.catalog.servers import cores_for, model_disks, server_class, sizes
from warmfleet.plan.choice import Choice, gb
from warmfleet.plan.gpu_choice import Chosen
from warmfleet.plan.gpu_driver import choose_driver
from warmfleet.plan.gpu_files import load_job
from warmfleet.plan.gpu_host_models import DataDiskPlan, ServerPlan
from warmfleet.plan.gpu_model_disk import choose_model_disk
from warmfleet.plan.gpu_models import ReplicaPlace
from warmfleet.plan.models import Scalar
from warmfleet.sizing.load_strategy import choose_load
from warmfleet.spec.models import SloSpec

__all__ = ["SYSTEM_BYTES", "PlannedServer", "least_cores", "least_memory", "plan_server"]

SYSTEM_BYTES = 16 * 10**9
"""Of a server's memory, for the system, the engines' own processes and what they read: a guess."""

_PROCESSES = 2
"""Of vLLM beside one for each card: HTTP with tokens, and the scheduler."""

_SERVICE_CORES = 1
"""The service in front of an engine, and what else a host runs."""

_MEMORY_FACTOR = 1.5
"""Memory over weights: all of them in the page cache, and half as much for what engines hold."""

_SYSTEM_DISK = 60 * 10**9
"""System 20 GB, two environments of the engine 15 each, compile caches 10: an estimate."""

_LOG_BYTES = 1000
"""Of a request, in the logs of the proxy and of the service: an estimate."""

_RETENTION_DAYS = 30
_PEAK_OVER_MEAN = 2.0
"""Of requests over days: 1.9 to 3.3 in public traces, so this errs to the safe side."""

_CORES = "vllm-project/vllm docs/configuration/optimization.md: 2 + N physical cores for N GPUs"
_TRACES = "peak over mean: alibaba/ServeGen data/language (m-large, m-mid, m-small)"


class PlannedServer(Struct, frozen=True):
    """The plan, and the reasons by field below it."""

    plan: ServerPlan
    choices: Mapping[str, Choice[Scalar]]


def plan_server(
    places: Sequence[ReplicaPlace],
    chosen: Mapping[str, Chosen],
    replicas: Mapping[str, int],
    slo: SloSpec,
    *,
    cards: int,
    held_bytes: int = 0,
) -> PlannedServer:
    """Plan a server with these replicas.

    Args:
        places: replicas on it.
        chosen: cards of each model, by name.
        replicas: of each model on all servers, by name.
        slo: what the endpoint is held to; only the cold start counts here.
        cards: of the server.
        held_bytes: of its memory, for weights that wait there for their turn.

    Raises:
        PlanRefusedError: no disk reads the weights within the asked cold start.
    """
    models = [chosen[name] for name in dict.fromkeys(place.model for place in places)]
    cores = _cores(places, models, cards)
    least = least_memory(places, chosen, held_bytes)
    memory = _memory(places, chosen, cores.value, held_bytes, least)
    page_cache = max(0, memory.value - SYSTEM_BYTES - held_bytes)
    disk, disk_choices = choose_model_disk(models, slo, cores.value, page_cache)
    data_least, data = _data_disk(places, chosen, replicas)
    driver, driver_choices = choose_driver(models)
    plan = ServerPlan(
        cores=cores.value,
        least_cores=least_cores(places),
        memory_bytes=memory.value,
        least_memory_bytes=least,
        swap="off",
        model_disk=disk,
        data_disk=DataDiskPlan(size_bytes=data.value, least_bytes=data_least),
        driver=driver,
    )
    choices: dict[str, Choice[Scalar]] = {
        "cores": cores,
        "memory_bytes": memory,
        "swap": Choice(
            "off",
            "weights that went to swap come back page by page, far slower than a load from the "
            "model disk; without memory for them a start has to fail, not crawl",
        ),
        **{f"model_disk.{field}": choice for field, choice in disk_choices.items()},
        "data_disk.size_bytes": data,
        **{f"driver.{field}": choice for field, choice in driver_choices.items()},
    }
    return PlannedServer(plan, choices)


def least_cores(places: Sequence[ReplicaPlace]) -> int:
    """Return the physical cores that the processes of these replicas need."""
    return _SERVICE_CORES + sum(_PROCESSES + len(place.cards) for place in places)


def least_memory(
    places: Sequence[ReplicaPlace], chosen: Mapping[str, Chosen], held: int = 0
) -> int:
    """Return the bytes of memory that these replicas need; ``held`` wait there for their turn."""
    by_rule = _by_rule(places, chosen)
    return max(by_rule, SYSTEM_BYTES + held + _loading(places, chosen, by_rule))


def _cores(places: Sequence[ReplicaPlace], models: Sequence[Chosen], cards: int) -> Choice[int]:
    least = least_cores(places)
    gpu = models[0].offer.layout.gpu
    advised, source = cores_for(gpu.memory_gb, cards)
    cores = server_class(max(advised, least)).cores
    return Choice(
        cores,
        f"{cards} card{'s' if cards > 1 else ''} of {gpu.memory_gb} GB: {advised // cards} cores "
        f"each; the processes of {len(places)} replica{'s' if len(places) > 1 else ''} need "
        f"{least} at least: {_PROCESSES} and one a card, and {_SERVICE_CORES} for the service; the "
        "next size that servers have",
        {"advised": advised, "least": least, "replicas": len(places), "cards": cards},
        f"{source}; {_CORES}",
    )


def _memory(
    places: Sequence[ReplicaPlace], chosen: Mapping[str, Chosen], cores: int, held: int, least: int
) -> Choice[int]:
    by_rule = _by_rule(places, chosen)
    weights = int(by_rule / _MEMORY_FACTOR)
    loading = _loading(places, chosen, by_rule)
    at_load = SYSTEM_BYTES + held + loading
    comes_with = server_class(cores)
    steps = sizes("memory")
    ordered = max(steps.at_least(least), comes_with.memory_gb * 10**9)
    return Choice(
        ordered,
        f"weights of {len(places)} replica{'s' if len(places) > 1 else ''}, {gb(weights)} GB, x "
        f"{_MEMORY_FACTOR} = {gb(by_rule)} GB; while one loads, {gb(at_load)} GB with "
        f"{gb(SYSTEM_BYTES)} for the system; the next size, and no less than comes with "
        f"{cores} cores ({comes_with.memory_gb} GB)",
        {
            "weights_bytes": weights,
            "factor": _MEMORY_FACTOR,
            "loading_bytes": loading,
            "held_bytes": held,
            "system_bytes": SYSTEM_BYTES,
            "least_bytes": least,
        },
        f"factor: this project's rule; sizes: {steps.source}; {comes_with.source}",
    )


def _by_rule(places: Sequence[ReplicaPlace], chosen: Mapping[str, Chosen]) -> int:
    offers = (chosen[place.model].offer for place in places)
    return int(_MEMORY_FACTOR * sum(offer.fit.weights * offer.layout.count for offer in offers))


def _loading(places: Sequence[ReplicaPlace], chosen: Mapping[str, Chosen], room: int) -> int:
    """Return the most bytes that loading one takes, by the way of reading that fits the room."""
    disk = model_disks()[0].gb_per_s
    jobs = (load_job(chosen[place.model], disk, room) for place in places)
    return max(choose_load(job).load.peak_host_bytes for job in jobs)


def _data_disk(
    places: Sequence[ReplicaPlace], chosen: Mapping[str, Chosen], replicas: Mapping[str, int]
) -> tuple[int, Choice[int]]:
    """Return the least bytes, and what to order."""
    rate = sum(
        sum(demand.rate for demand in chosen[place.model].wanted.demands) / replicas[place.model]
        for place in places
    )
    logs = int(rate / _PEAK_OVER_MEAN * 86_400 * _RETENTION_DAYS * _LOG_BYTES)
    least = _SYSTEM_DISK + logs
    steps = sizes("disk")
    return least, Choice(
        steps.at_least(least),
        f"another disk than that of the weights: {gb(_SYSTEM_DISK)} GB for system, engines and "
        f"compile caches; logs of {_RETENTION_DAYS} days at {rate:.3g} requests/s at the peak, "
        f"half of that in the mean, {_LOG_BYTES} bytes each: {gb(logs)} GB",
        {
            "system_bytes": _SYSTEM_DISK,
            "peak_requests_per_s": rate,
            "peak_over_mean": _PEAK_OVER_MEAN,
            "log_bytes": _LOG_BYTES,
            "retention_days": _RETENTION_DAYS,
            "least_bytes": least,
        },
        f"sizes of a line and of the system: this project's estimates; {_TRACES}; {steps.source}",
    )
