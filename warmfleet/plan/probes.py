"""What the user's own round-trip times are, as a decision of the plan."""

from collections.abc import Collection, Iterator, Sequence

from warmfleet.plan.choice import Choice
from warmfleet.plan.models import Decision
from warmfleet.resolve.facts import UserFacts
from warmfleet.resolve.probe_facts import ProbedRtt, ProbeFacts

__all__ = ["explain_probes"]


def explain_probes(
    probes: ProbeFacts | None, users: Sequence[UserFacts], regions: Collection[str]
) -> Iterator[Decision]:
    """Yield how many there are, and those from users to sites; nothing without a file."""
    if probes is None:
        return
    places = {user.place.id for user in users}
    here = [row for row in probes.paths if row.place in places and row.region in regions]
    reason = (
        f"round-trip times that were measured, of {len(probes.paths)} paths, {len(here)} of them "
        "between users and sites of this plan; several of a path count by their median; they come "
        "before every estimate of BGP lines, and times of other lines are scaled to them"
    )
    inputs = {_name(row): row.rtt_ms for row in here}
    yield Choice(probes.rows, reason, inputs, probes.path).decision("probes.rows")


def _name(row: ProbedRtt) -> str:
    named = f"{row.place} to {row.region}"
    return f"{named} ({row.carrier})" if row.carrier else named
