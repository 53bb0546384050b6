"""Turn what a spec names into facts: models with shape and files, places with coordinates."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from inference_app.problems import nearest
from warmfleet.catalog.models import Catalog, Place
from warmfleet.errors import SpecError
from warmfleet.resolve.model_facts import ModelFacts
from warmfleet.resolve.model_source import resolve_model
from warmfleet.spec.models import FleetSpec
from warmfleet.spec.placement import BaremetalPlacement
from warmfleet.spec.users import UsersSpec

if TYPE_CHECKING:
    from warmfleet.resolve.price_facts import PriceFacts

__all__ = ["NOTHING_KNOWN", "Facts", "Known", "UserFacts", "resolve"]


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
    prices: "PriceFacts | None" = None
    """None: nothing is rented."""


@dataclass(frozen=True)
class Known:
    """Facts of an earlier run, as the lock holds them."""

    models: tuple[ModelFacts, ...] = ()
    prices: "PriceFacts | None" = None


NOTHING_KNOWN = Known()


def resolve(
    spec: FleetSpec,
    catalog: Catalog,
    *,
    root: Path,
    known: Known = NOTHING_KNOWN,
    refresh: bool = False,
) -> Facts:
    """Look up all that the spec names.

    Args:
        spec: What is asked for.
        catalog: What is known without asking anyone.
        root: Where relative paths start.
        known: Facts of an earlier run; those of a source that is elsewhere are taken as they are,
            so that a plan is the same whatever the network does.
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
                known=known.models,
                refresh=refresh,
            )
            for index, model in enumerate(spec.models)
        ),
        users=tuple(
            _users(f"users[{index}]", users, catalog) for index, users in enumerate(spec.users)
        ),
        prices=_prices(spec, catalog, root, known.prices),
    )


def _prices(
    spec: FleetSpec, catalog: Catalog, root: Path, known: "PriceFacts | None"
) -> "PriceFacts | None":
    if not isinstance(spec.placement, BaremetalPlacement):
        return None
    from warmfleet.resolve.price_facts import resolve_prices  # the lab must not wait for it

    return resolve_prices(spec.placement, catalog, root=root, known=known)


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
