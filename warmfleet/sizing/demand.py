"""What is asked of a model at its peak."""

from collections.abc import Sequence

from msgspec import Struct

__all__ = ["Demand", "requests_per_s", "tokens_per_s"]


class Demand(Struct, frozen=True):
    """Requests of one kind.

    Attributes:
        rate: requests a second in the busiest minute.
        prompt_tokens: of a typical request.
        output_tokens: of a typical answer; 0 for what only reads (embedding, classification).
    """

    rate: float
    prompt_tokens: int
    output_tokens: int

    @property
    def context(self) -> float:
        """Tokens that a request has in the cache half-way through its answer."""
        return self.prompt_tokens + self.output_tokens / 2


def requests_per_s(demands: Sequence[Demand]) -> float:
    """Return the rate of all together."""
    return sum(demand.rate for demand in demands)


def tokens_per_s(demands: Sequence[Demand]) -> float:
    """Return the answer tokens a second of all together."""
    return sum(demand.rate * demand.output_tokens for demand in demands)
