"""Shares of the users by place, from wherever the spec says that they are counted."""

from pathlib import Path

from warmfleet.catalog.models import Catalog
from warmfleet.resolve.places import find_place
from warmfleet.resolve.progress import Progress
from warmfleet.resolve.user_facts import CountedUsers, UserFacts
from warmfleet.spec.users import LoggedUsersSpec, TabledUsersSpec, UsersSource

__all__ = ["count_users", "locate_users"]


def count_users(
    users: UsersSource,
    catalog: Catalog,
    *,
    root: Path,
    known: CountedUsers | None,
    refresh: bool,
    progress: Progress,
) -> CountedUsers | None:
    """Return what a file counts, as the lock has it unless asked to refresh; None of a list.

    Raises:
        SpecError: the file cannot be read, or is not what it should be.
    """
    if isinstance(users, tuple):
        return None
    if known is not None and known.source == users and not refresh:
        return known
    # Slow to import, and most specs have a list.
    if isinstance(users, TabledUsersSpec):
        from warmfleet.resolve.users_table import tabled_users

        return tabled_users(users, catalog, root)
    from warmfleet.resolve.users_log import logged_users

    return logged_users(users, catalog, root, progress)


def locate_users(
    users: UsersSource, counted: CountedUsers | None, catalog: Catalog
) -> tuple[UserFacts, ...]:
    """Return users with their places.

    Raises:
        SpecError: a place that the catalog does not know; the nearest one is named.
    """
    if counted is not None:
        return tuple(
            UserFacts(find_place("users", row.where, catalog), row.share) for row in counted.shares
        )
    if isinstance(users, TabledUsersSpec | LoggedUsersSpec):  # counted by count_users
        raise AssertionError(users)
    return tuple(
        UserFacts(find_place(f"users[{index}].where", row.where, catalog), row.share.fraction)
        for index, row in enumerate(users)
    )
