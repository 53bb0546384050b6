"""Driver, CUDA, engine and card: what must agree on a GPU host."""

from functools import cache
from typing import Literal

from pydantic import Field

from warmfleet.catalog.load import EDITION, read_table
from warmfleet.catalog.models import Row

__all__ = [
    "Architecture",
    "Branch",
    "Cuda",
    "EngineBuild",
    "architecture_of",
    "branches",
    "driver_for",
    "engine_builds",
]

_FILE = "drivers.yaml"


class Cuda(Row):
    """A major of CUDA; programs for any of its versions run on the same drivers."""

    major: int = Field(gt=0)
    driver: int = Field(gt=0, description="oldest branch")


class Architecture(Row):
    """Cards of one generation."""

    id: str
    capabilities: tuple[str, ...] = Field(min_length=1, description="compute capabilities")
    first_cuda: str = Field(description="oldest version")
    last_cuda: int | None = Field(description="newest major; None: support goes on")
    last_driver: int | None = Field(description="newest branch; None: support goes on")
    modules: Literal["proprietary", "open", "open only"] = Field(
        description="of the kernel; open: both, and the open ones are advised"
    )


class Branch(Row):
    """Drivers that are kept up together, such as R580."""

    number: int = Field(gt=0)
    kind: Literal["long-term", "production"]
    until: str = Field(pattern=r"^\d{4}-\d{2}$", description="end of life, a month")

    def __str__(self) -> str:
        """Return its name."""
        return f"R{self.number}"


class EngineBuild(Row):
    """An engine as it is published."""

    engine: Literal["vllm", "llamacpp"]
    version: str | None = Field(description="None: any of this year")
    cuda: str = Field(description="it was built for")
    least_capability: str = Field(description="oldest compute capability")

    def __str__(self) -> str:
        """Return what a person calls it."""
        name = {"vllm": "vLLM", "llamacpp": "llama.cpp"}[self.engine]
        return f"{name}{f' {self.version}' if self.version else ''} for CUDA {self.cuda}"

    @property
    def major(self) -> int:
        """Of its CUDA."""
        return int(self.cuda.split(".")[0])


def architecture_of(capability: str | None) -> Architecture | None:
    """Return the generation of a compute capability; None where the catalog has none."""
    return next((row for row in _architectures() if capability in row.capabilities), None)


def engine_builds(engine: str) -> tuple[EngineBuild, ...]:
    """Return how an engine is published, the preferred one first."""
    return tuple(row for row in _builds() if row.engine == engine)


def driver_for(major: int) -> Cuda:
    """Return the row of a major of CUDA."""
    return next(row for row in _cuda() if row.major == major)


@cache
def branches() -> tuple[Branch, ...]:
    """Return the branches that are alive in the catalog's edition: long-term first, old first."""
    edition = EDITION.replace(".", "-")
    rows = (Branch.model_validate(row) for row in read_table(_FILE, "branches"))
    alive = [row for row in rows if row.until > edition]
    return tuple(sorted(alive, key=lambda row: (row.kind != "long-term", row.number)))


@cache
def _architectures() -> tuple[Architecture, ...]:
    return tuple(Architecture.model_validate(row) for row in read_table(_FILE, "architectures"))


@cache
def _builds() -> tuple[EngineBuild, ...]:
    return tuple(EngineBuild.model_validate(row) for row in read_table(_FILE, "engine_builds"))


@cache
def _cuda() -> tuple[Cuda, ...]:
    return tuple(Cuda.model_validate(row) for row in read_table(_FILE, "cuda"))
