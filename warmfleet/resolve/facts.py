"""Turn what a spec names into facts: models with shape and files, places with coordinates."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inference_app.problems import nearest
from warmfleet.catalog.models import Catalog, Place
from warmfleet.errors import SpecError
from warmfleet.resolve.model_facts import ModelFacts
from warmfleet.resolve.model_source import resolve_model
from warmfleet.spec.models import FleetSpec
from warmfleet.spec.users import UsersSpec

__all__ = ["Facts", "UserFacts", "resolve"]


@dataclass(frozen=True)
class UserFacts:
    """A share of the users and where they are."""

    place: Place
    fraction: float


@dataclass(frozen=True)
class Facts:
    """Everything the planner may know of the world."""

    models: tuple[ModelFacts, ...]
    users: tuple[UserFacts, ...]


def resolve(
    spec: FleetSpec,
    catalog: Catalog,
    *,
    root: Path,
    known: Sequence[ModelFacts] = (),
    refresh: bool = False,
) -> Facts:
    """Look up all that the spec names.

    Args:
        spec: What is asked for.
        catalog: What is known without asking anyone.
        root: Where relative paths start.
        known: Facts of an earlier run, as the lock holds them; those of a source that is elsewhere
            are taken as they are, so that a plan is the same whatever the network does.
        refresh: Ask such sources again; the catalog answers for those that cannot be reached.

    Raises:
        SpecError: something named is unknown or unreadable; the nearest known one is named.
    """
    return Facts(
        models=tuple(
            resolve_model(
                f"models[{index}].source",
                model.source,
                catalog,
                root=root,
                known=known,
                refresh=refresh,
            )
            for index, model in enumerate(spec.models)
        ),
        users=tuple(
            _users(f"users[{index}]", users, catalog) for index, users in enumerate(spec.users)
        ),
    )


def _users(at: str, users: UsersSpec, catalog: Catalog) -> UserFacts:
    for place in catalog.places:
        if place.id == users.where:
            return UserFacts(place, users.share.fraction)
    known = {place.id: place.id for place in catalog.places}
    known |= {place.name: place.id for place in catalog.places}
    if users.where in known:
        hint = f"; did you mean {known[users.where]!r}?"
    else:
        hint = nearest(users.where, known) or "; needed a province such as CN-GD"
    msg = f"{at}.where: found {users.where!r}, which the catalog does not know{hint}"
    raise SpecError(msg)
