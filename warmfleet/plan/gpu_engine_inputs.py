"""What the arguments of an engine follow from, and what both engines take alike."""

import math
from collections.abc import Iterator, Mapping

from msgspec import Struct

from warmfleet.catalog.models import FrontRates
from warmfleet.plan.choice import Choice
from warmfleet.plan.gpu_models import LlamacppPlan, VllmPlan
from warmfleet.plan.models import Decision, Scalar
from warmfleet.sizing.engine_memory import EngineMemory
from warmfleet.sizing.fit import Fit, Layout
from warmfleet.sizing.precision import Precision

__all__ = ["EngineInputs", "PlannedEngine", "choose_preprocessing"]


class EngineInputs(Struct, frozen=True):
    """What the arguments follow from."""

    precision: Precision
    published: str
    """Precision of the weights in the source."""
    layout: Layout
    memory: EngineMemory
    places: int
    """Requests that one replica takes at a time."""
    shared_bytes: int | None
    """What the engine must have of a card that another engine is on, too; None: none is."""
    context: int
    """Tokens of the longest request."""
    fit: Fit
    peak_tokens_per_s: float
    """Answer tokens of one replica at its ceiling."""
    peak_prompt_tokens_per_s: float
    """Prompt tokens of one replica at its ceiling."""
    front: FrontRates


class PlannedEngine(Struct, frozen=True):
    """The arguments and the reasons for them."""

    plan: VllmPlan | LlamacppPlan
    choices: Mapping[str, Choice[Scalar]]
    """By the argument's field."""

    def decisions(self, at: str) -> Iterator[Decision]:
        """Yield the decisions about the fields below ``at``."""
        for field, choice in self.choices.items():
            yield choice.decision(f"{at}.{field}")


def choose_preprocessing(inputs: EngineInputs) -> Choice[Scalar]:
    """Choose the threads that turn prompts into tokens."""
    busy = inputs.peak_prompt_tokens_per_s / inputs.front.tokens_per_thread_s
    return Choice(
        max(1, math.ceil(round(busy, 9))),
        f"{inputs.peak_prompt_tokens_per_s:.0f} prompt tokens a second at the ceiling, "
        f"{inputs.front.tokens_per_thread_s:.0f} a thread",
        {
            "prompt_tokens_per_s": inputs.peak_prompt_tokens_per_s,
            "tokens_per_thread_s": inputs.front.tokens_per_thread_s,
        },
        inputs.front.source,
    )
