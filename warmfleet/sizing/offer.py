"""What is asked of cards, and what they answer: an offer, or by how much they do not do."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from warmfleet.catalog.architecture import Architecture
from warmfleet.catalog.gpu import Gpu
from warmfleet.sizing.demand import Demand
from warmfleet.sizing.deployment import Deployment, Promise
from warmfleet.sizing.engine_memory import EngineMemory
from warmfleet.sizing.fit import Fit, Layout
from warmfleet.sizing.precision import Precision
from warmfleet.sizing.roofline import Roofline

__all__ = ["Asked", "Offer", "Offers", "Refused"]

_COMFORTABLE_SHARE = 0.1
"""Of the engine's budget, free beside a request of the whole context."""


class Asked(Struct, frozen=True):
    """A model with its load.

    Attributes:
        architecture: the model's shape.
        precision: of its weights.
        demands: all load.
        promise: what callers are promised.
        context: tokens of the longest request that must be possible.
        engine: memory settings for a card.
        peak: peak of a second over peak of a minute, 1 or more.
    """

    architecture: Architecture
    precision: Precision
    demands: Sequence[Demand]
    promise: Promise
    context: int
    engine: Callable[[Gpu], EngineMemory]
    peak: float = 1.0

    @property
    def reads_only(self) -> bool:
        """Are there no answer tokens?"""
        return not any(demand.output_tokens for demand in self.demands)

    def typical(self, engine: EngineMemory) -> int:
        """Tokens that a request holds: llama.cpp reserves the whole context for each place."""
        if engine.engine == "llamacpp":
            return self.context
        longest = max(demand.prompt_tokens + demand.output_tokens for demand in self.demands)
        return min(self.context, longest)


class Offer(Struct, frozen=True):
    """Replicas of a model, each on the cards of a layout.

    Attributes:
        layout: cards of one replica.
        engine: its memory settings.
        full: memory with one request of the whole context.
        fit: memory with the requests of the busiest second, at their typical length.
        streams: requests of typical length that one replica can hold at a time.
        roofline: speed of one replica.
        deployment: replicas, and what callers see of them.
        card_rent: of one card, from the user's price book; None where it is not known.
    """

    layout: Layout
    engine: EngineMemory
    full: Fit
    fit: Fit
    streams: int
    roofline: Roofline
    deployment: Deployment
    card_rent: float | None

    @property
    def cards(self) -> int:
        """Cards of all replicas."""
        return self.layout.count * self.deployment.replicas.total

    @property
    def memory_gb(self) -> int:
        """Memory of the cards of all replicas, as sold."""
        return self.cards * self.layout.gpu.memory_gb

    @property
    def comfortable(self) -> bool:
        """Is a tenth of the budget free beside a request of the whole context?

        The load has no say: it is spread over replicas until it fits, and with it a layout would
        turn from tight to comfortable and back.
        """
        return self.full.headroom >= _COMFORTABLE_SHARE * self.full.budget

    @property
    def rent(self) -> float | None:
        """Of all cards."""
        return None if self.card_rent is None else self.card_rent * self.cards


class Refused(Struct, frozen=True):
    """A layout that does not serve the model, and by how much."""

    layout: Layout
    reason: str
    missing_bytes: int = 0


class Offers(Struct, frozen=True):
    """What serves the model, best first, and what does not."""

    ranked: tuple[Offer, ...]
    refused: tuple[Refused, ...]
