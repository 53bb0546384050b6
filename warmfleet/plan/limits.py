"""What one request, and all requests of a replica together, may ask for."""

from warmfleet.plan.choice import Choice
from warmfleet.plan.models import LimitsPlan
from warmfleet.spec.models import ModelSpec

__all__ = ["IN_FLIGHT_PER_SLOT", "choose_in_flight", "plan_limits"]

IN_FLIGHT_PER_SLOT = 2
"""One request generating and one waiting: more would wait longer than it runs."""

_BODY_BYTES_PER_TOKEN = 32
"""JSON of the longest prompt: rarely above 5 characters a token, 6 bytes each when escaped."""

_SMALLEST_BODY_BYTES = 256 * 1024


def plan_limits(model: ModelSpec, slots: int) -> LimitsPlan:
    """Return the limits of a model that generates ``slots`` answers at a time."""
    return LimitsPlan(
        max_output_tokens=model.max_output.tokens,
        max_body_bytes=max(_SMALLEST_BODY_BYTES, model.context.tokens * _BODY_BYTES_PER_TOKEN),
        max_in_flight=slots * IN_FLIGHT_PER_SLOT,
    )


def choose_in_flight(slots: int) -> Choice[int]:
    """Choose how many requests a replica takes before it answers 429."""
    return Choice(
        slots * IN_FLIGHT_PER_SLOT,
        "one request generating and one waiting for each slot; more is answered at once with 429",
        {"slots": slots, "per_slot": IN_FLIGHT_PER_SLOT},
    )
