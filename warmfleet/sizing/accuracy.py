"""How near the roofline comes to published speeds."""

from typing import Final

from msgspec import Struct

from warmfleet.sizing.roofline import Roofline

__all__ = ["EXPECTED", "ExpectedError", "expected_error"]


class ExpectedError(Struct, frozen=True):
    """Errors of speed on the published figures of one kind of deployment, in percent."""

    of: str
    median_pct: int
    worst_pct: int
    anchors: int

    def __str__(self) -> str:
        """Return what a plan says beside a speed."""
        return (
            f"{self.median_pct}% off in the median and {self.worst_pct}% at worst on "
            f"{self.anchors} published speeds of {self.of}"
        )


EXPECTED: Final = {
    "dense": ExpectedError("dense models on one card", 9, 48, 38),
    "linked": ExpectedError("dense models on several cards", 16, 28, 12),
    "experts": ExpectedError("mixtures of experts", 20, 31, 7),
}
"""From ``catalog/data/speed_anchors.yaml``; a test works them out anew. The efficiency factors were
set on the same figures, so a deployment unlike all of them may be further off."""


def expected_error(roofline: Roofline) -> ExpectedError:
    """Return how far off the speeds of this kind of deployment were."""
    if roofline.work.expert_bytes:
        return EXPECTED["experts"]
    cards = roofline.tensor_parallel * roofline.pipeline_parallel
    return EXPECTED["linked" if cards > 1 else "dense"]
