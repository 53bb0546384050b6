"""Replicas of a model on cards: what load, promises and operations need, against what there is."""

import math

from msgspec import Struct

from warmfleet.errors import PlanRefusedError
from warmfleet.plan.choice import Choice
from warmfleet.plan.gpu_choice import Chosen
from warmfleet.plan.gpu_redundancy import Redundancy, redundancy_of
from warmfleet.sizing.ceiling import refuse_load
from warmfleet.sizing.replicas import SERVER_AVAILABILITY, TARGET_UTILISATION, up_share

__all__ = ["ROOFLINE", "Staffing", "staff"]

ROOFLINE = "roofline of warmfleet/sizing, calibrated on catalog/data/speed_anchors.yaml"
"""Source of every speed of a GPU fleet."""


class Staffing(Struct, frozen=True):
    """Replicas of a model."""

    replicas: Choice[int]
    each: int
    """On one server at most: as many as are away with it."""
    spare: int
    """Of the replicas: what the load does not need."""


def staff(chosen: Chosen, floor: int) -> Staffing:
    """Choose the number of replicas; ``floor`` are ready while one is worked on.

    Raises:
        PlanRefusedError: more than the leased servers hold; with the arithmetic.
    """
    found = chosen.offer.deployment.replicas
    needed = redundancy_of(chosen.offer, chosen.pool, chosen.wanted.promise.availability)
    total = max(needed.replicas, floor + 1)
    _must_suffice(chosen, needed, total, floor)
    by_load = _by_load(chosen)
    reason = (
        f"peak load keeps {found.busy:.2f} replicas busy, at most {TARGET_UTILISATION:.0%} each: "
        f"{by_load}"
    )
    if found.carry > by_load:
        reason += f"; {found.carry} so that waiting leaves the first token within {_ttft(chosen)}"
    if needed.each > 1:
        reason += f", on {needed.carrying} servers with {needed.each} each"
    if needed.spare:
        reason += (
            f"; {needed.spare} server{'s' if needed.spare > 1 else ''} more, so that "
            f"{needed.carrying} {'is' if needed.carrying == 1 else 'are'} up "
            f"{_availability(chosen)} of the time where one is up {SERVER_AVAILABILITY:.0%} "
            "(assumed)"
        )
    if total > needed.replicas:
        reason += f"; {total} so that an operation on one leaves the floor of {floor}"
    choice = Choice(
        total,
        reason,
        {
            "busy_replicas": found.busy,
            "utilisation": TARGET_UTILISATION,
            "carry": found.carry,
            "carrying_servers": needed.carrying,
            "spare_servers": needed.spare,
            "server_availability": SERVER_AVAILABILITY,
            "places": chosen.offer.streams,
        },
        ROOFLINE,
    )
    return Staffing(choice, needed.each, total - found.carry)


def _must_suffice(chosen: Chosen, needed: Redundancy, total: int, floor: int) -> None:
    pool, layout, found = chosen.pool, chosen.offer.layout, chosen.offer.deployment.replicas
    servers = -(-total // needed.each)
    if not pool.leased or servers <= len(pool.servers):
        return
    name = chosen.wanted.spec.name
    most = len(pool.servers) * max(1, (pool.cards or layout.count) // layout.count)
    there = f"{pool} hold{'' if len(pool.servers) > 1 else 's'}"
    there += f" {most} replica{'s' if most > 1 else ''} of model {name}"
    missing = servers - len(pool.servers)
    more = f"{missing} server{'s' if missing > 1 else ''} more like {'them' if most > 1 else 'it'}"
    if _by_load(chosen) > most:
        said = refuse_load(
            chosen.wanted.demands,
            chosen.offer.roofline,
            streams=chosen.offer.streams,
            card=f"{layout.count} x {layout.gpu.name}",
            most=max(1, most - needed.spare * needed.each),
            needed=total,
            utilisation=TARGET_UTILISATION,
        )
        msg = f"placement.servers: model {name}: {said}"
    elif found.carry > most:
        msg = (
            f"slo.ttft_p95: {there}, but {found.carry} are needed so that waiting leaves the first "
            f"token within {_ttft(chosen)} ({found.carry - most} missing); nearest: {more}, or a "
            "longer time"
        )
    elif needed.servers > len(pool.servers):
        msg = (
            f"slo.availability: {there}, but {_availability(chosen)} of the time needs "
            f"{needed.spare} server{'s' if needed.spare > 1 else ''} more than the "
            f"{needed.carrying} of the load ({missing} missing); nearest: {more}"
        )
        spared = len(pool.servers) - needed.carrying
        if spared >= 0:
            kept = up_share(needed.carrying, len(pool.servers), SERVER_AVAILABILITY)
            msg += f", or availability {_rounded_down(kept)}"
    else:
        msg = (
            f"updates.floor: {there}, and an operation on one leaves {most - 1}; asked {floor}; "
            f"nearest: {most - 1}, or {more}"
        )
    raise PlanRefusedError(msg)


def _by_load(chosen: Chosen) -> int:
    busy = chosen.offer.deployment.replicas.busy
    return max(1, math.ceil(round(busy / TARGET_UTILISATION, 9)))


def _ttft(chosen: Chosen) -> str:
    return f"{chosen.wanted.promise.ttft_p95_s or 0:g} s"


def _availability(chosen: Chosen) -> str:
    return f"{chosen.wanted.promise.availability * 100:g} %"


def _rounded_down(share: float) -> str:
    """As many nines as it has, and a digit more: what is named must be kept."""
    digits = max(0, math.ceil(-math.log10(1 - share)) - 1)
    percent = math.floor(share * 100 * 10**digits + 1e-6) / 10**digits
    return f"{percent:g}%"
