"""How many requests at a time, and how many replicas."""

import math
from collections.abc import Sequence

from warmfleet.catalog.models import Peaks
from warmfleet.errors import PlanRefusedError
from warmfleet.plan.choice import Choice
from warmfleet.plan.speed import Speed
from warmfleet.spec.models import CallerSpec, FleetSpec
from warmfleet.spec.placement import MAX_LAB_REPLICAS, LabPlacement

__all__ = [
    "TARGET_UTILISATION",
    "choose_floor",
    "choose_replicas",
    "choose_slots",
    "ttft_must_fit",
]

TARGET_UTILISATION = 0.8
"""Busy share of a replica at peak: above it, waiting grows faster than load."""

_SPARE_ABOVE_PERCENT = 99
"""One server alone, with its restarts and repairs, is not up for more of the time than this."""


def choose_slots(callers: Sequence[CallerSpec], speed: Speed, peaks: Peaks) -> Choice[int]:
    """Choose how many requests one replica generates at a time."""
    busy = _busy(callers, speed)
    in_flight = busy * peaks.second_to_minute
    enough = [count for count in speed.concurrencies if count >= _exact(in_flight)]
    slots = enough[0] if enough else speed.concurrencies[-1]
    return Choice(
        slots,
        f"requests in flight at the peak of a second are {in_flight:.2f} on one replica "
        "(rate x time of a request); the next size whose speed was measured",
        {"in_flight_mean": busy, "second_to_minute": peaks.second_to_minute},
        f"{speed.rates.source}; {peaks.source}",
    )


def choose_replicas(spec: FleetSpec, placement: LabPlacement, speed: Speed) -> Choice[int]:
    """Choose the number of replicas, or keep the one that the spec asks for.

    Raises:
        PlanRefusedError: the asked number, or the lab's largest, does not carry the load.
    """
    busy = _busy(spec.traffic.callers, speed)
    carry = max(1, math.ceil(_exact(busy / TARGET_UTILISATION)))
    spare = 1 if spec.slo.availability.percent > _SPARE_ABOVE_PERCENT else 0
    floor = spec.updates.floor or 0
    needed = max(carry + spare, floor + 1)
    asked = placement.replicas
    _must_suffice(spec, asked, busy=busy, carry=carry, spare=spare)
    _must_leave(asked, floor)
    arithmetic = (
        f"peak load keeps {busy:.2f} replicas busy, at most {TARGET_UTILISATION:.0%} each: {carry}"
    )
    if spare:
        arithmetic += f"; one more since availability is {spec.slo.availability}"
    if needed > carry + spare:
        arithmetic += f"; {needed} so that an operation on one leaves the floor of {floor}"
    reason = arithmetic if asked is None else f"asked for; needed {needed}: {arithmetic}"
    return Choice(
        needed if asked is None else asked,
        reason,
        {"busy_replicas": busy, "utilisation": TARGET_UTILISATION, "spare": spare},
        speed.rates.source,
    )


def choose_floor(spec: FleetSpec, replicas: int) -> Choice[int]:
    """Choose how many ready replicas an operation must leave, or keep what the spec asks for."""
    asked = spec.updates.floor
    if asked is not None:
        return Choice(asked, "asked for", {"replicas": replicas})
    if replicas == 1:
        reason = "one replica alone: an operation on it is a gap, and requests wait in the queue"
        return Choice(0, reason, {"replicas": replicas})
    return Choice(1, "a replica is up while another one is worked on", {"replicas": replicas})


def ttft_must_fit(spec: FleetSpec, speed: Speed) -> None:
    """Refuse a time to the first token below that of an idle replica.

    Raises:
        PlanRefusedError: with the time that is missing and the nearest one that works.
    """
    if spec.slo.ttft_p95 is None:
        return
    asked_s = spec.slo.ttft_p95.seconds
    prompt = max(caller.prompt_tokens for caller in spec.traffic.callers)
    alone_s = speed.prefill_s(prompt)
    if asked_s < alone_s:
        fits = int(asked_s * speed.rates.prefill_tokens_per_s)
        nearest_s = math.ceil(alone_s * 10) / 10
        msg = (
            f"slo.ttft_p95: asked {spec.slo.ttft_p95}, but reading {prompt} prompt tokens takes "
            f"{alone_s:.2f} s on an idle replica ({alone_s - asked_s:.2f} s too long); "
            f"nearest: {nearest_s:g} s, or prompts of at most {fits} tokens"
        )
        raise PlanRefusedError(msg)


def _must_suffice(
    spec: FleetSpec, asked: int | None, *, busy: float, carry: int, spare: int
) -> None:
    needed = carry + spare
    limit = MAX_LAB_REPLICAS if asked is None else asked
    if needed <= limit:
        return
    if spare and carry <= limit:
        msg = (
            f"placement.replicas: asked {limit}, but availability {spec.slo.availability} needs "
            f"one more than the load does; nearest: {needed} replicas, or availability "
            f"{_SPARE_ABOVE_PERCENT}%"
        )
        raise PlanRefusedError(msg)
    qps = sum(caller.peak_qps for caller in spec.traffic.callers)
    carried = (limit - spare) * TARGET_UTILISATION / busy if limit > spare else 0.0
    more = f"{needed} replicas, or " if needed <= MAX_LAB_REPLICAS else ""
    what = "asked" if asked is not None else "the lab has at most"
    msg = (
        f"placement.replicas: {what} {limit}, but {qps:g} requests/s keep {busy:.2f} replicas busy "
        f"and need {needed}{' (one to spare)' if spare else ''}; nearest: {more}"
        f"{math.floor(qps * carried * 1000) / 1000:g} requests/s"
    )
    raise PlanRefusedError(msg)


def _must_leave(asked: int | None, floor: int) -> None:
    """Refuse a floor that no operation could keep, rather than every operation later."""
    limit = MAX_LAB_REPLICAS if asked is None else asked
    if floor < limit:
        return
    more = f", or {floor + 1} replicas" if floor < MAX_LAB_REPLICAS else ""
    msg = (
        f"updates.floor: asked {floor}, but with {'at most ' if asked is None else ''}{limit} "
        f"replica{'s' if limit > 1 else ''} an operation on one leaves {limit - 1}; "
        f"nearest: {limit - 1}{more}"
    )
    raise PlanRefusedError(msg)


def _busy(callers: Sequence[CallerSpec], speed: Speed) -> float:
    """Return how many replicas the load would keep busy if requests never overlapped.

    Counted at the speed of one request at a time, although requests that overlap are faster
    together: so more load never lowers a number.
    """
    return sum(caller.peak_qps * speed.caller_s(caller) for caller in callers)


def _exact(value: float) -> float:
    """Drop the last binary digits, so that a whole number is not rounded up to the next."""
    return round(value, 9)
