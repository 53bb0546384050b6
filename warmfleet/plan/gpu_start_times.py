"""How long the engine of a model on its cards takes to start, whatever its disk."""

from warmfleet.plan.gpu_choice import Chosen
from warmfleet.sizing.cold_start import StartState, StartTimes, graph_sizes, start_times

__all__ = ["engine_times", "graphs_of"]


def graphs_of(chosen: Chosen, places: int) -> int:
    """Return how many batch sizes are captured for so many requests at a time."""
    memory = chosen.offer.engine
    return graph_sizes(places) if memory.engine == "vllm" and memory.graphs else 0


def engine_times(chosen: Chosen, places: int, *, compiled: bool, weights_s: float) -> StartTimes:
    """Return the parts of a start; ``compiled``: an earlier one has left its artefacts."""
    return start_times(
        chosen.offer.engine.engine,
        StartState(compiled, weights_s),
        layers=chosen.wanted.facts.architecture.layers,
        ranks=chosen.offer.layout.count,
        graphs=graphs_of(chosen, places),
    )
