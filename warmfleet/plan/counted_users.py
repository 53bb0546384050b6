"""What a file of users was found to say, as a decision of the plan."""

from collections.abc import Iterator

from warmfleet.plan.choice import Choice
from warmfleet.plan.models import Decision
from warmfleet.resolve.user_facts import CountedUsers
from warmfleet.spec.users import LoggedUsersSpec, TabledUsersSpec

__all__ = ["explain_users"]


def explain_users(counted: CountedUsers | None) -> Iterator[Decision]:
    """Yield how many were counted and what became of the rest; nothing where users are listed."""
    if counted is None:
        return
    source = counted.source
    if isinstance(source, LoggedUsersSpec):
        field, named = "requests", f"{source.access_log}, by {source.geoip}"
    else:
        field, named = "rows", source.csv if isinstance(source, TabledUsersSpec) else ""
    yield Choice(
        counted.counted[field],
        "; ".join(counted.told),
        {row.where: row.share for row in counted.shares},
        named,
    ).decision(f"counted_users.counted.{field}")
