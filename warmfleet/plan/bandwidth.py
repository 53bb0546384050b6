"""The line of a site: what callers' answers weigh, on the sizes that lines are sold in."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from warmfleet.catalog.models import Catalog, Line, WireSizes
from warmfleet.errors import PlanRefusedError
from warmfleet.plan.choice import Choice
from warmfleet.plan.models import BandwidthPlan
from warmfleet.spec.models import CallerSpec

__all__ = ["PlannedBandwidth", "plan_bandwidth", "response_bytes"]


@dataclass(frozen=True)
class PlannedBandwidth:
    """The plan and the reasons for its parts."""

    plan: BandwidthPlan
    line: Choice[str]
    committed: Choice[int]
    burst: Choice[int]


def plan_bandwidth(
    callers: Sequence[CallerSpec], region: str, catalog: Catalog
) -> PlannedBandwidth:
    """Derive line, committed and burst rate.

    Raises:
        PlanRefusedError: more than the largest size; the missing rate is named.
    """
    line = catalog.lines[0]
    peak_mbps = sum(
        caller.peak_qps * response_bytes(caller, catalog.wire) * 8 / 10**6 for caller in callers
    )
    wanted = peak_mbps * catalog.peaks.headroom
    burst_wanted = wanted * catalog.peaks.second_to_minute
    committed, burst = _step(line, wanted, "committed"), _step(line, burst_wanted, "burst")
    carriers = [carrier.id for carrier in catalog.carriers if carrier.id in line.carriers]
    largest = max(carrier.fixed_share_pct for carrier in catalog.carriers)
    sources = f"{catalog.wire.source}; {catalog.peaks.source}; {line.source}"
    return PlannedBandwidth(
        BandwidthPlan(
            region=region,
            line=line.id,
            carriers=carriers,
            committed_mbps=committed,
            burst_mbps=burst,
        ),
        Choice(
            line.id,
            f"{line.name} reaches every carrier; the largest alone has {largest:.0f} % of users",
            {
                carrier.id: carrier.fixed_share_pct
                for carrier in catalog.carriers
                if carrier.id in line.carriers
            },
            "; ".join(sorted({carrier.source for carrier in catalog.carriers})),
        ),
        Choice(
            committed,
            f"peak requests/s x bytes of an answer = {peak_mbps:.3f} Mbps, times "
            f"{catalog.peaks.headroom:g}, on the next size sold",
            {
                "peak_mbps": peak_mbps,
                "headroom": catalog.peaks.headroom,
                **{
                    f"{caller.name}_response_bytes": response_bytes(caller, catalog.wire)
                    for caller in callers
                },
            },
            sources,
        ),
        Choice(
            burst,
            f"the peak of a second is {catalog.peaks.second_to_minute:g} times that of a minute",
            {"wanted_mbps": wanted, "second_to_minute": catalog.peaks.second_to_minute},
            sources,
        ),
    )


def response_bytes(caller: CallerSpec, wire: WireSizes) -> int:
    """Return the bytes on the wire of one answer: as measured, else from its tokens."""
    if caller.response is not None:
        return caller.response.bytes
    if caller.stream:
        return wire.streamed_answer_bytes + caller.output_tokens * wire.streamed_token_bytes
    return wire.plain_answer_bytes + caller.output_tokens * wire.plain_token_bytes


def _step(line: Line, wanted_mbps: float, kind: str) -> int:
    # Rounded before it is compared: 160.00000000000003 must not need the size above 160.
    wanted = Decimal(str(round(wanted_mbps, 9)))
    for step in line.steps:
        if step.mbps >= wanted:
            return int(step.mbps)
    largest = line.steps[-1].mbps
    share = largest / wanted
    msg = (
        f"traffic.callers: the {kind} rate is {wanted:.0f} Mbps, but the largest {line.name} line "
        f"is {largest:.0f} Mbps ({wanted - largest:.0f} Mbps missing); nearest: "
        f"{share:.1%} of this load"
    )
    raise PlanRefusedError(msg)
