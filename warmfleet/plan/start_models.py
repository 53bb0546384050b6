"""The forecast of a cold start, as a plan carries it; seconds and bytes are in the names."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field

from warmfleet.catalog.rows import Basis

__all__ = ["ColdStartPlan", "LoadPlan", "PhasePlan", "RefusedLoadPlan", "warmup_label"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class PhasePlan(_Part):
    """One phase of the ledger that a replica writes, in three kinds of starts."""

    name: str = Field(description="as the ledger labels it")
    first_s: float = Field(ge=0, description="nothing is kept: the first start of a build")
    reboot_s: float = Field(
        ge=0, description="the page cache is empty, compiled artefacts are kept"
    )
    restart_s: float = Field(ge=0, description="both are kept, as far as memory allows")
    basis: Basis = Field(description="where the seconds come from")

    @classmethod
    def even(cls, name: str, seconds: float, basis: Basis) -> Self:
        """Return a phase for which nothing can be kept: it takes the same in every start."""
        return cls(name=name, first_s=seconds, reboot_s=seconds, restart_s=seconds, basis=basis)


class RefusedLoadPlan(_Part):
    """A way of reading weights that was not taken."""

    strategy: str
    why: str


class LoadPlan(_Part):
    """How weights are read."""

    strategy: str = Field(description="mmap, prefetch, direct or streamer")
    arguments: list[str] = Field(description="of the engine")
    files_bytes: int = Field(gt=0)
    disk_gb_s: float = Field(gt=0, description="sequential rate of the disk, 10^9 bytes/s")
    disk_stated: bool = Field(description="in a contract; else assumed")
    peak_host_bytes: int = Field(ge=0, description="of host memory, the needed page cache included")
    refused: list[RefusedLoadPlan]


class ColdStartPlan(_Part):
    """From process start to warm; the phases sum to the totals."""

    first_s: float = Field(gt=0, description="nothing is kept: the first start of a build")
    reboot_s: float = Field(
        gt=0, description="the page cache is empty, compiled artefacts are kept"
    )
    restart_s: float = Field(gt=0, description="both are kept, as far as memory allows")
    error_pct: float | None = Field(
        default=None, ge=0, description="half of the published starts were off by more"
    )
    phases: list[PhasePlan] = Field(min_length=1)
    load: LoadPlan | None = Field(default=None, description="None: the engine maps its one file")


def warmup_label(
    name: str, prompt: object, output: object, concurrency: object, *, stream: bool
) -> str:
    """Return the label of a shape's warm-up: the same in plan and ledger, on each replica."""
    how = "stream" if stream else "whole"
    return f"{name} {prompt} to {output} tokens, {how}, {concurrency} at once"
