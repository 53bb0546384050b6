"""Parts of a plan about where its servers are and whom they serve.

Units are in the names: ``_ms`` milliseconds; shares are fractions, 0.4 is 40 %.
"""

from typing import Literal

from pydantic import Field

from warmfleet.plan.models import Plan

__all__ = ["RttPlan", "SiteReplicasPlan", "SiteRole", "SiteUsersPlan"]

SiteRole = Literal["serving", "recovery"]


class SiteUsersPlan(Plan):
    """Users of one place, and how far they are."""

    where: str
    share: float = Field(gt=0, le=1, description="of all users")
    rtt_ms: float = Field(ge=0, description="round-trip time, as estimated")
    low_ms: float = Field(ge=0, description="80 of 100 paths lie between this")
    high_ms: float = Field(ge=0, description="and this")
    basis: Literal["measured", "probed", "modelled"]
    cross_border: bool = Field(description="users or servers in mainland China, the other not")
    by_carrier_ms: dict[str, float] = Field(
        default_factory=dict, description="over the border on each carrier's ordinary line"
    )


class RttPlan(Plan):
    """Round-trip times of several users, by their shares."""

    mean_ms: float = Field(ge=0)
    p95_ms: float = Field(ge=0, description="95 % of the users are within it")
    p95_low_ms: float = Field(ge=0, description="the same of the lower bounds of all paths")
    p95_high_ms: float = Field(ge=0, description="and of the upper bounds")


class SiteReplicasPlan(Plan):
    """Replicas of one model at a site."""

    model: str
    replicas: int = Field(gt=0)
    spare: int = Field(ge=0, description="of the replicas: what the site's load does not need")
