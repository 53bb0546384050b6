"""How engines read weights, and how fast disks are: facts of ``load_rates.yaml``."""

from functools import cache
from typing import Literal

from pydantic import Field

from warmfleet.catalog.load import read_table
from warmfleet.catalog.rows import Row

__all__ = ["LoadStrategy", "StrategyName", "load_strategies"]

StrategyName = Literal["mmap", "prefetch", "direct", "streamer"]
"""Mapped pages; the page cache filled ahead; past the page cache; concurrent ranges of files."""


class LoadStrategy(Row):
    """One way in which one engine reads weights from a disk; rates in 10^9 bytes a second."""

    id: StrategyName
    engine: Literal["vllm", "llamacpp"]
    formats: tuple[str, ...]
    arguments: tuple[str, ...] = Field(description="of the engine")
    disk_share: float = Field(gt=0, le=1, description="of the disk's sequential rate")
    one_rank_gb_s: float = Field(gt=0, description="that one rank takes at most")
    most_gb_s: float = Field(gt=0, description="that all ranks of a server take at most")
    reads_whole_files: bool = Field(
        default=False, description="one rank a file: with fewer files than ranks, some only wait"
    )
    hot_gb_s: float | None = Field(gt=0, description="from the page cache; None: never from there")
    needs_page_cache: bool = Field(description="slow where the host has no memory for all files")
    buffer_mb: int = Field(ge=0, description="of each rank, in host memory")
    copies_of_parallel_ranks: int = Field(
        default=0, description="of the whole checkpoint, that each of several ranks keeps"
    )


@cache
def load_strategies(engine: str) -> tuple[LoadStrategy, ...]:
    """Return the strategies of an engine, the simplest first."""
    rows = map(LoadStrategy.model_validate, read_table("load_rates.yaml", "load_strategies"))
    return tuple(row for row in rows if row.engine == engine)
