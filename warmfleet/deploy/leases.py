"""Leases of servers against the calendar: which of them end, and when."""

from collections.abc import Iterator, Sequence
from datetime import date

from pydantic import BaseModel, ConfigDict

from warmfleet.plan.gpu_models import GpuFleetPlan, LeasePlan

__all__ = ["LeaseStatus", "LeasesStatus", "leases_of"]

_SOON_DAYS, _MONTH_DAYS = 7, 30
"""Before its last day a lease is warned of: renewing one takes a company days to weeks."""


class LeaseStatus(BaseModel):
    """One lease."""

    model_config = ConfigDict(frozen=True)

    server: str
    until: date
    reference: str | None
    days_left: int
    """0 on the last day; less than 0: it has ended."""


class LeasesStatus(BaseModel):
    """What `warmfleet status` shows of servers that are planned and not adopted yet."""

    model_config = ConfigDict(frozen=True)

    environment: str
    today: date
    leases: list[LeaseStatus]
    """The first to end first."""
    unknown: list[str]
    """Leased servers of which the spec does not say until when."""
    warnings: list[str]


def leases_of(plan: GpuFleetPlan, today: date) -> LeasesStatus:
    """Hold the leases of a plan, and how long its prices are valid, against a day."""
    leases = [
        LeaseStatus(
            server=lease.server,
            until=lease.until,
            reference=lease.reference,
            days_left=(lease.until - today).days,
        )
        for lease in sorted(plan.leases, key=lambda lease: (lease.until, lease.server))
    ]
    return LeasesStatus(
        environment=plan.environment,
        today=today,
        leases=leases,
        unknown=_unknown(plan, plan.leases),
        warnings=[*_warnings(leases), *_prices(plan, today)],
    )


def _unknown(plan: GpuFleetPlan, known: Sequence[LeasePlan]) -> list[str]:
    named = {lease.server for lease in known}
    there = [
        name
        for site in plan.sites
        for names in (*(group.servers for group in site.groups), site.idle)
        for name in names
    ]
    return [name for name in there if name not in named]


def _warnings(leases: Sequence[LeaseStatus]) -> Iterator[str]:
    for lease in leases:
        if lease.days_left > _MONTH_DAYS:
            continue
        reference = f" ({lease.reference})" if lease.reference else ""
        said = f"the lease of {lease.server}{reference}"
        if lease.days_left < 0:
            ago = f"ended {_days(-lease.days_left)} ago, on {lease.until}"
            yield f"{said} {ago}; renew it, or take it out of the spec"
        elif lease.days_left <= _SOON_DAYS:
            left = "today" if lease.days_left == 0 else f"in {_days(lease.days_left)}"
            yield f"{said} ends {left}, on {lease.until}; renew it now"
        else:
            yield f"{said} ends in {_days(lease.days_left)}, on {lease.until}; renew it"


def _prices(plan: GpuFleetPlan, today: date) -> Iterator[str]:
    until = plan.cost.valid_until
    if until is not None and until < today:
        again = f"ask again: warmfleet quote {plan.environment}"
        yield f"the prices of {plan.cost.prices} held until {until}; {again}"


def _days(count: int) -> str:
    return "1 day" if count == 1 else f"{count} days"
