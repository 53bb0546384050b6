"""The start of a replica on cards: how its weights are read, and the phases of its ledger."""

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from warmfleet.catalog.start_cost import ServiceStart, service_start, start_cost
from warmfleet.plan.choice import Choice
from warmfleet.plan.cold_start import Start
from warmfleet.plan.gpu_choice import Chosen
from warmfleet.plan.gpu_files import load_job
from warmfleet.plan.gpu_hosts import SYSTEM_BYTES
from warmfleet.plan.gpu_models import GpuEnginePlan, ServerGroupPlan
from warmfleet.plan.gpu_start_times import engine_times, graphs_of
from warmfleet.plan.models import Decision
from warmfleet.plan.start_models import LoadPlan, PhasePlan, RefusedLoadPlan
from warmfleet.sizing.cold_start import ACCURACY, StartTimes
from warmfleet.sizing.load_strategy import ChosenLoad, LoadJob, choose_load
from warmfleet.spec.placement import BaremetalPlacement
from warmfleet.spec.servers import ContractSpec

__all__ = ["LoadHost", "PlannedStart", "load_host", "plan_start"]

_GB = 10**9
_FASTEST_DISK_GB_S = 14
"""What one PCIe 5.0 x4 disk reads; a faster one would be a stripe of several."""


class LoadHost(Struct, frozen=True):
    """What the worst of a model's servers has for reading its weights."""

    disk_gb_s: float
    disk_stated: bool
    """In a contract; else it is the disk that the plan orders."""
    host_bytes: int
    """Memory for the page cache and readers."""


class PlannedStart(Struct, frozen=True):
    """The start, and why it takes what it takes."""

    start: Start
    strategy: Choice[str]
    phases: dict[str, Choice[float]]

    def decisions(self, at: str) -> Iterator[Decision]:
        """Yield why weights are read as they are, and what the engine's own phases take."""
        yield self.strategy.decision(f"{at}.load.strategy")
        names = [phase.name for phase in self.start.phases]
        for name, choice in self.phases.items():
            yield choice.decision(f"{at}.phases[{names.index(name)}].reboot_s")


def load_host(
    placement: BaremetalPlacement, groups: Sequence[ServerGroupPlan], model: str
) -> LoadHost:
    """Return disk and memory of the servers that hold a model, by contract or as planned."""
    contracts = {server.name: server.contract for server in placement.servers}
    disks: list[tuple[float, bool]] = []
    memory: list[int] = []
    for group in groups:
        if all(place.model != model for place in group.replicas):
            continue
        leased: list[ContractSpec | None] = [contracts[name] for name in group.servers]
        for contract in leased or [None]:
            reads = [disk.read for disk in contract.nvme if disk.use == "model"] if contract else []
            stated = [read.gb_per_s for read in reads if read is not None]
            planned = group.host.model_disk.read_gb_per_s
            disks.append((min(stated, default=planned), bool(stated)))
            ram = contract.ram.bytes if contract and contract.ram else group.host.memory_bytes
            memory.append(max(0, ram - SYSTEM_BYTES))
    slowest, was_stated = min(disks)
    return LoadHost(slowest, was_stated, min(memory))


def plan_start(chosen: Chosen, engine: GpuEnginePlan, host: LoadHost) -> PlannedStart:
    """Choose how the weights are read and forecast the start around it."""
    engine_name = chosen.offer.engine.engine
    job = load_job(chosen, host.disk_gb_s, host.host_bytes)
    load = choose_load(job)
    layers = chosen.wanted.facts.architecture.layers
    places = engine.max_num_seqs if engine.kind == "vllm" else engine.parallel
    stays = job.files_bytes <= host.host_bytes
    cold_s = load.load.cold_s
    first = engine_times(chosen, places, compiled=False, weights_s=cold_s)
    reboot = engine_times(chosen, places, compiled=True, weights_s=cold_s)
    hot_s = load.load.hot_s if stays else cold_s
    restart = engine_times(chosen, places, compiled=True, weights_s=hot_s)
    graphs = graphs_of(chosen, places)
    cost = start_cost(engine_name)
    rows = {
        name: PhasePlan.model_validate(
            {
                "name": name,
                "first_s": round(_phase(first, name), 3),
                "reboot_s": round(_phase(reboot, name), 3),
                "restart_s": round(_phase(restart, name), 3),
                "basis": "published" if name == "weights" else cost.basis,
            }
        )
        for name in ("engine_start", "weights", "engine_init", "first_forward")
    }
    return PlannedStart(
        Start(
            (*_service_phases(service_start()), *rows.values()),
            service_start().ready_s,
            f"{cost.source}; {load.load.strategy.source}; {ACCURACY}",
            _load_plan(load, job, host),
            ACCURACY.median_pct if engine_name == "vllm" else None,
            lambda over_s: _remedies(over_s, chosen, job, load),
        ),
        Choice(
            load.load.id,
            load.reason + ("" if host.disk_stated else " (as planned: no contract states another)"),
            {
                "files_bytes": job.files_bytes,
                "disk_gb_s": job.disk_gb_s,
                "ranks": job.ranks,
                "peak_host_bytes": load.load.peak_host_bytes,
                **{f"{row.load.id}_s": row.load.cold_s for row in load.refused},
            },
            load.load.strategy.source,
        ),
        {
            "engine_start": Choice(
                rows["engine_start"].reboot_s,
                "interpreter, imports, the card's context"
                + (f", {job.ranks} processes that find each other" if job.ranks > 1 else ""),
                {"ranks": job.ranks},
                cost.source,
            ),
            "weights": Choice(
                rows["weights"].reboot_s,
                f"{load.reason}; {rows['weights'].restart_s:.1f} s when a restart finds them"
                + (" in the page cache" if stays else ": the page cache does not hold them all"),
                {"restart_s": rows["weights"].restart_s},
                load.load.strategy.source,
            ),
            "engine_init": Choice(
                rows["engine_init"].reboot_s, "a trial step, and the cache", {}, cost.source
            ),
            "first_forward": Choice(
                rows["first_forward"].reboot_s,
                f"{layers} layers from compiled artefacts and {graphs} CUDA graphs of each; "
                f"{rows['first_forward'].first_s:.0f} s where nothing is compiled yet",
                {
                    "layers": layers,
                    "graphs": graphs,
                    "compile_s": first.compile,
                    "compiled_s": reboot.compile,
                    "graphs_s": reboot.graphs,
                },
                cost.source,
            ),
        },
    )


def _service_phases(service: ServiceStart) -> tuple[PhasePlan, ...]:
    """Return the phases of the service before it starts its engine."""
    return tuple(
        PhasePlan.even(name, took, "measured")
        for name, took in (
            ("process_start", service.process_start_s),
            ("imports", service.imports_s),
        )
    )


def _phase(times: StartTimes, name: str) -> float:
    if name == "first_forward":
        return times.compile + times.graphs
    return float(getattr(times, name))


def _load_plan(chosen: ChosenLoad, job: LoadJob, host: LoadHost) -> LoadPlan:
    return LoadPlan(
        strategy=chosen.load.id,
        arguments=list(chosen.load.strategy.arguments),
        files_bytes=job.files_bytes,
        disk_gb_s=job.disk_gb_s,
        disk_stated=host.disk_stated,
        peak_host_bytes=chosen.load.peak_host_bytes,
        refused=[RefusedLoadPlan(strategy=row.load.id, why=row.reason) for row in chosen.refused],
    )


def _remedies(over_s: float, chosen: Chosen, job: LoadJob, load: ChosenLoad) -> Iterator[str]:
    """Yield what saves so many seconds of reading the weights."""
    allowed_s = load.load.cold_s - over_s
    if allowed_s <= 0:
        return
    fast = choose_load(replace(job, disk_gb_s=_FASTEST_DISK_GB_S)).load
    if fast.cold_s <= allowed_s:
        needed = job.files_bytes / _GB / allowed_s / fast.strategy.disk_share
        yield f"a disk for weights of {math.ceil(needed * 10) / 10:g} GB/s ({job.disk_gb_s:g} now)"
    larger = choose_load(replace(job, host_bytes=None)).load
    if larger.id != load.load.id and larger.cold_s <= allowed_s:
        memory = math.ceil((larger.peak_host_bytes + SYSTEM_BYTES) / _GB)
        yield f"{memory} GB of host memory for {larger.id}"
    if chosen.precision.linear_bits > 8 and load.load.cold_s / 2 <= allowed_s:
        yield "weights in 8 bit"
