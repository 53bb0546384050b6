"""The plan of updates: how a new version of a model takes over at a site."""

from typing import Literal

from pydantic import Field

from warmfleet.plan.models import Plan

__all__ = ["ModelUpdatePlan", "Strategy"]

Strategy = Literal["blue_green", "side_by_side", "drain_then_swap"]
"""A whole second set on cards of its own; both versions on the same cards; the old one first
leaves its cards."""


class ModelUpdatePlan(Plan):
    """How the replicas of one model at one site are replaced."""

    model: str
    strategy: Strategy
    ready: int = Field(ge=0, description="replicas that serve while one is replaced")
    floor: int = Field(ge=0, description="of them that an update must leave")
    peak_share: float = Field(
        ge=0, le=1, description="of the peak that those carry, each at its target utilisation"
    )
    replace_s: float = Field(
        gt=0, description="of one replica: drain and start, at most; without the gates between"
    )
    gap_s: float = Field(ge=0, description="without a replica that serves")
