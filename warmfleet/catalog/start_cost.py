"""Where the seconds of a start go: facts of ``cold_start.yaml``, and published starts."""

from functools import cache
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from warmfleet.catalog.load import read_table
from warmfleet.catalog.rows import Basis, Row

__all__ = [
    "ServiceStart",
    "StartAnchor",
    "StartCost",
    "service_start",
    "start_anchors",
    "start_cost",
]

Part = Literal["engine_start", "weights", "engine_init", "compile", "graphs"]


class StartCost(Row):
    """Seconds of one engine's start beside its weights."""

    engine: Literal["vllm", "llamacpp"]
    engine_start_s: float = Field(ge=0, description="process, imports, the card's context")
    ranks_start_s: float = Field(ge=0, description="more, where several processes find each other")
    profile_s: float = Field(ge=0, description="a trial step, and the cache")
    compile_layer_s: float = Field(ge=0, description="of each layer, when nothing is kept")
    compiled_layer_s: float = Field(ge=0, description="of each layer, from kept artefacts")
    graph_ms: float = Field(ge=0, description="of one layer at one batch size")
    basis: Basis


class ServiceStart(Row):
    """Seconds of the service in front of an engine."""

    process_start_s: float = Field(ge=0)
    imports_s: float = Field(ge=0)
    ready_s: float = Field(ge=0)

    @property
    def total_s(self) -> float:
        """Seconds altogether."""
        return self.process_start_s + self.imports_s + self.ready_s


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    layers: int = Field(gt=0)
    files_gb: float = Field(gt=0)
    ranks: int = Field(gt=0)
    graph_sizes: int = Field(ge=0)


class _State(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    hot: bool = Field(description="weights were in the page cache")
    compiled: bool = Field(description="artefacts were kept")
    disk_gb_s: float | None


class StartAnchor(Row):
    """One published start of vLLM."""

    of: str
    shape: _Shape
    state: _State
    parts: dict[Part, float] = Field(min_length=1, description="seconds, as far as told apart")


@cache
def start_cost(engine: str) -> StartCost:
    """Return the row of an engine."""
    rows = map(StartCost.model_validate, read_table("cold_start.yaml", "start_costs"))
    return next(row for row in rows if row.engine == engine)


@cache
def service_start() -> ServiceStart:
    """Return what the service itself takes."""
    return ServiceStart.model_validate(read_table("cold_start.yaml", "service_start")[0])


def start_anchors() -> tuple[StartAnchor, ...]:
    """Return all published starts."""
    return tuple(map(StartAnchor.model_validate, read_table("cold_start_anchors.yaml", "anchors")))
