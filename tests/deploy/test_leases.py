"""Leases against fixed days."""

from datetime import date
from typing import Any

import pytest

from tests.plan.conftest import Planning
from warmfleet.deploy.leases import LeasesStatus, leases_of

LEASED: dict[str, Any] = {
    "slo.availability": "99%",
    "placement": {
        "kind": "baremetal",
        "servers": [
            {
                "name": "sz-1",
                "address": "203.0.113.10",
                "lease": {"until": "2027-06-30", "reference": "SZ-1042"},
                "contract": {"gpu": "1 x RTX 4090"},
            },
            {"name": "sz-2", "address": "203.0.113.11", "contract": {"gpu": "1 x RTX 4090"}},
        ],
    },
}
PLAN = Planning("baremetal.yaml").plan(LEASED)
OF = "the lease of sz-1 (SZ-1042)"


@pytest.mark.parametrize(
    ("today", "days", "warnings"),
    [
        ("2026-11-30", 212, []),
        ("2027-05-30", 31, []),
        ("2027-05-31", 30, [f"{OF} ends in 30 days, on 2027-06-30; renew it"]),
        ("2027-06-22", 8, [f"{OF} ends in 8 days, on 2027-06-30; renew it"]),
        ("2027-06-23", 7, [f"{OF} ends in 7 days, on 2027-06-30; renew it now"]),
        ("2027-06-29", 1, [f"{OF} ends in 1 day, on 2027-06-30; renew it now"]),
        ("2027-06-30", 0, [f"{OF} ends today, on 2027-06-30; renew it now"]),
        (
            "2027-07-01",
            -1,
            [f"{OF} ended 1 day ago, on 2027-06-30; renew it, or take it out of the spec"],
        ),
    ],
)
def test_a_lease_is_warned_of_before_it_ends(today, days, warnings) -> None:
    found = leases_of(PLAN, date.fromisoformat(today))

    assert [(lease.server, lease.days_left) for lease in found.leases] == [("sz-1", days)]
    assert (found.unknown, found.warnings) == (["sz-2"], warnings)
    assert LeasesStatus.model_validate_json(found.model_dump_json()) == found


def test_prices_that_no_longer_hold_are_told() -> None:
    placement = {**LEASED["placement"], "prices": "prices.yaml"}  # valid until 2027-03-31
    plan = Planning("baremetal.yaml").plan({**LEASED, "placement": placement})

    assert leases_of(plan, date(2027, 3, 31)).warnings == []
    (said,) = leases_of(plan, date(2027, 4, 1)).warnings
    assert said == (
        "the prices of prices.yaml held until 2027-03-31; ask again: warmfleet quote test"
    )
