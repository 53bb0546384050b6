"""How long a replica takes from process start until its engine answers, part by part."""

from typing import Final

from msgspec import Struct

from warmfleet.catalog.start_cost import start_cost

__all__ = ["ACCURACY", "StartAccuracy", "StartState", "StartTimes", "graph_sizes", "start_times"]

_LARGEST_GRAPH = 512
_GRAPH_STEP = 8
_SMALL_GRAPHS = 3


class StartState(Struct, frozen=True):
    """What an earlier start has left on the host.

    Attributes:
        compiled: artefacts of the compiler, for the same engine, model, card and settings.
        weights_s: seconds of reading the weights from where they are.
    """

    compiled: bool
    weights_s: float


class StartTimes(Struct, frozen=True):
    """Seconds of each part of an engine's start."""

    engine_start: float
    weights: float
    engine_init: float
    compile: float
    graphs: float

    @property
    def total(self) -> float:
        """Seconds altogether."""
        parts = (self.engine_start, self.weights, self.engine_init, self.compile, self.graphs)
        return sum(parts)


class StartAccuracy(Struct, frozen=True):
    """Errors of the forecast on published starts."""

    starts: int
    median_pct: int
    within_two: int
    """Starts that took between half of the forecast and twice as long."""
    worst_factor: float
    """The most that one took of its forecast."""

    def __str__(self) -> str:
        """Return what a plan says beside a cold start."""
        return (
            f"{self.median_pct}% off in the median on {self.starts} published starts, "
            f"{self.within_two} of them within a factor of two; the slowest took "
            f"{self.worst_factor:g} times its forecast"
        )


ACCURACY: Final = StartAccuracy(21, 51, 17, 5.8)
"""From ``catalog/data/cold_start_anchors.yaml``; a test works it out anew."""


def graph_sizes(max_num_seqs: int) -> int:
    """Return how many batch sizes vLLM captures as CUDA graphs.

    1, 2, 4, then every 8th up to twice the sequences, 512 at most: vllm-project/vllm
    vllm/config/vllm.py.
    """
    return _SMALL_GRAPHS + min(2 * max_num_seqs, _LARGEST_GRAPH) // _GRAPH_STEP


def start_times(
    engine: str, state: StartState, *, layers: int, ranks: int, graphs: int
) -> StartTimes:
    """Return the seconds of a start.

    Args:
        engine: ``vllm`` or ``llamacpp``.
        state: what is kept on the host.
        layers: of the model; compiler and graphs take each of them.
        ranks: processes of the replica, one for each card.
        graphs: batch sizes that are captured.
    """
    cost = start_cost(engine)
    return StartTimes(
        engine_start=cost.engine_start_s + (cost.ranks_start_s if ranks > 1 else 0),
        weights=state.weights_s,
        engine_init=cost.profile_s,
        compile=layers * (cost.compiled_layer_s if state.compiled else cost.compile_layer_s),
        graphs=layers * graphs * cost.graph_ms / 1000,
    )
