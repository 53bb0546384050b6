"""What the endpoint is held to, as the plan carries it."""

from warmfleet.plan.models import SloPlan
from warmfleet.spec.models import SloSpec

__all__ = ["plan_slo"]


def plan_slo(slo: SloSpec, *, cold_start_s: float) -> SloPlan:
    """Return the promises in the plan's units; the cold start is asked or planned."""
    return SloPlan(
        first_request_ratio=slo.first_request.factor,
        cold_start_s=cold_start_s,
        ttft_p95_s=slo.ttft_p95.seconds if slo.ttft_p95 else None,
        availability=slo.availability.fraction,
    )
