"""How long requests take on one replica, from the measured rates of its engine."""

from typing import Protocol

from msgspec import Struct

from warmfleet.catalog.models import Catalog, Model, Rates, Weights
from warmfleet.errors import PlanRefusedError
from warmfleet.spec.models import CallerSpec

__all__ = ["RequestSpeed", "Speed", "speed_of"]


class RequestSpeed(Protocol):
    """How long requests take on one replica; times are seconds."""

    @property
    def source(self) -> str:
        """Where the figures come from."""

    def request_s(self, prompt_tokens: int, output_tokens: int, concurrency: int = 1) -> float:
        """Time of one request when ``concurrency`` like it run at a time."""


class Speed(Struct, frozen=True):
    """Rates of one engine with one model; times are seconds."""

    rates: Rates

    @property
    def source(self) -> str:
        """Where the rates were measured."""
        return self.rates.source

    @property
    def concurrencies(self) -> list[int]:
        """Numbers of requests at a time that were measured, ascending."""
        return sorted(self.rates.decode_tokens_per_s)

    def prefill_s(self, prompt_tokens: int, concurrency: int = 1) -> float:
        """Time to read the prompts of ``concurrency`` requests, which share the engine."""
        return concurrency * prompt_tokens / self.rates.prefill_tokens_per_s

    def decode_s(self, output_tokens: int, concurrency: int = 1) -> float:
        """Time until ``concurrency`` answers of this length are done together."""
        measured = max(count for count in self.concurrencies if count <= concurrency)
        together = self.rates.decode_tokens_per_s[measured]
        return concurrency * output_tokens / together

    def request_s(self, prompt_tokens: int, output_tokens: int, concurrency: int = 1) -> float:
        """Time of one request when ``concurrency`` like it run at a time."""
        return self.prefill_s(prompt_tokens, concurrency) + self.decode_s(
            output_tokens, concurrency
        )

    def caller_s(self, caller: CallerSpec) -> float:
        """Time of one request of a caller, alone on the replica."""
        return self.request_s(caller.prompt_tokens, caller.output_tokens)


def speed_of(engine: str, model: Model, weights: Weights, catalog: Catalog) -> Speed:
    """Find the measured rates of an engine with a model.

    Raises:
        PlanRefusedError: never measured, so nothing can be promised.
    """
    for row in catalog.rates:
        if (
            row.engine == engine
            and row.model in {None, model.id}
            and row.precision in {None, weights.precision}
        ):
            return Speed(row)
    known = ", ".join(f"{row.model} {row.precision}" for row in catalog.rates if row.model)
    msg = (
        f"models: no measured speed of {model.id} {weights.precision} on {engine}; "
        f"needed one of: {known}"
    )
    raise PlanRefusedError(msg)
