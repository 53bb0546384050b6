"""Which way of reading weights is fastest on a host, and what each takes of its memory."""

from msgspec import Struct

from warmfleet.catalog.gpu import Gpu
from warmfleet.catalog.load_strategy import LoadStrategy, StrategyName, load_strategies

__all__ = ["ChosenLoad", "Load", "LoadJob", "RefusedLoad", "choose_load", "peak_host_bytes"]

_GB = 10**9
_LINK_REACHED = 0.8
"""Of a PCIe link's rate in one direction, from pinned memory: this project's estimate."""

_NEAR = 1.1
"""Within this factor of the fastest, the simplest is taken."""


class LoadJob(Struct, frozen=True):
    """Weights that one replica reads when it starts.

    Attributes:
        engine: ``vllm`` or ``llamacpp``.
        format: of the files.
        files_bytes: the whole checkpoint.
        ranks: processes that read it, one for each card.
        gpu: the card, for its link; None: not known.
        disk_gb_s: sequential rate of the disk, 10^9 bytes a second.
        host_bytes: memory that the page cache and the readers may have; None: as much as needed.
        files: how many there are; None: not known, at least one for each rank.
    """

    engine: str
    format: str
    files_bytes: int
    ranks: int
    gpu: Gpu | None
    disk_gb_s: float
    host_bytes: int | None = None
    files: int | None = None

    @property
    def link_gb_s(self) -> float:
        """What the links of all cards take together, 10^9 bytes a second."""
        both_ways = self.gpu.pcie_gb_s if self.gpu else None
        return self.ranks * both_ways / 2 * _LINK_REACHED if both_ways else float("inf")


class Load(Struct, frozen=True):
    """What one strategy does of a job.

    Attributes:
        strategy: the way of reading.
        cold_s: seconds with nothing in the page cache.
        hot_s: seconds with all files in the page cache, where they stay there.
        peak_host_bytes: of host memory while it loads, page cache that it needs included.
    """

    strategy: LoadStrategy
    cold_s: float
    hot_s: float
    peak_host_bytes: int

    @property
    def id(self) -> StrategyName:
        """Name of the strategy."""
        return self.strategy.id


class RefusedLoad(Struct, frozen=True):
    """A strategy that was not taken, and why."""

    load: Load
    reason: str


class ChosenLoad(Struct, frozen=True):
    """The strategy that is taken, why, and those that are not."""

    load: Load
    reason: str
    refused: tuple[RefusedLoad, ...]


def peak_host_bytes(strategy: LoadStrategy, files_bytes: int, ranks: int) -> int:
    """Return the most host memory that loading takes, the page cache that it needs included."""
    copies = strategy.copies_of_parallel_ranks * ranks if ranks > 1 else 0
    copies += strategy.needs_page_cache
    return copies * files_bytes + ranks * strategy.buffer_mb * 10**6


def choose_load(job: LoadJob) -> ChosenLoad:
    """Choose the fastest strategy that the host has memory for; if about as fast, the simplest.

    Where none has enough memory, the one that takes least of it is chosen.
    """
    rows = [row for row in load_strategies(job.engine) if job.format in row.formats]
    loads = [_load(row, job) for row in rows]
    room = float("inf") if job.host_bytes is None else job.host_bytes
    able = [load for load in loads if load.peak_host_bytes <= room]
    if not able:
        able = [min(loads, key=lambda load: load.peak_host_bytes)]
    fastest = min(load.cold_s for load in able)
    best = next(load for load in able if load.cold_s <= fastest * _NEAR)
    return ChosenLoad(
        best,
        _why(best, able, job, tight=best.peak_host_bytes > room),
        tuple(RefusedLoad(load, _why_not(load, best, room)) for load in loads if load is not best),
    )


def _load(row: LoadStrategy, job: LoadJob) -> Load:
    """The ranks share the disk; whatever is read goes over the cards' links."""
    readers = min(job.ranks, job.files or job.ranks) if row.reads_whole_files else job.ranks
    taken = min(row.one_rank_gb_s * readers, row.most_gb_s)
    cold = min(row.disk_share * job.disk_gb_s, taken, job.link_gb_s)
    hot = min(row.hot_gb_s, job.link_gb_s) if row.hot_gb_s else cold
    peak = peak_host_bytes(row, job.files_bytes, job.ranks)
    return Load(row, job.files_bytes / _GB / cold, job.files_bytes / _GB / max(cold, hot), peak)


def _why(best: Load, able: list[Load], job: LoadJob, *, tight: bool) -> str:
    rate = job.files_bytes / _GB / best.cold_s
    read = (
        f"{job.files_bytes / _GB:.1f} GB at {rate:.1f} GB/s from a disk of {job.disk_gb_s:g} GB/s"
    )
    if tight:
        return f"{read}; it takes least of the host's memory, which is too small for all of them"
    if any(load.cold_s < best.cold_s for load in able):
        return f"{read}; within a tenth of the fastest, and simpler"
    return f"{read}: the fastest that the host has memory for"


def _why_not(load: Load, best: Load, room: float) -> str:
    if load.peak_host_bytes > room:
        missing = (load.peak_host_bytes - room) / _GB
        return f"takes {load.peak_host_bytes / _GB:.1f} GB of host memory ({missing:.1f} missing)"
    if load.cold_s > best.cold_s:
        return f"{load.cold_s:.1f} s, {load.cold_s - best.cold_s:.1f} s longer"
    return f"{load.cold_s:.1f} s, no more than a tenth faster, and needs another package"
