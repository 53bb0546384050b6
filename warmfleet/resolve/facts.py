"""Turn what a spec names into facts: models with shape and files, places with coordinates."""

from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from warmfleet.catalog.models import Catalog
from warmfleet.resolve.model_facts import ModelFacts
from warmfleet.resolve.model_source import resolve_model
from warmfleet.resolve.probe_facts import ProbeFacts
from warmfleet.resolve.progress import Progress
from warmfleet.resolve.user_facts import CountedUsers, UserFacts
from warmfleet.resolve.users import count_users, locate_users
from warmfleet.spec.models import FleetSpec
from warmfleet.spec.network import NetworkSpec
from warmfleet.spec.placement import BaremetalPlacement

if TYPE_CHECKING:
    from warmfleet.resolve.price_facts import PriceFacts

__all__ = ["NOTHING_KNOWN", "Facts", "Known", "UserFacts", "resolve"]


class Facts(Struct, frozen=True):
    """Everything the planner may know of the world."""

    models: tuple[ModelFacts, ...]
    users: tuple[UserFacts, ...]
    prices: "PriceFacts | None" = None
    """None: nothing is rented."""
    counted: CountedUsers | None = None
    """Where a file counts the users."""
    probes: ProbeFacts | None = None
    """None: the user measured no round-trip times."""


class Known(Struct, frozen=True):
    """Facts of an earlier run, as the lock holds them."""

    models: tuple[ModelFacts, ...] = ()
    prices: "PriceFacts | None" = None
    users: CountedUsers | None = None
    probes: ProbeFacts | None = None


NOTHING_KNOWN = Known()


def resolve(
    spec: FleetSpec,
    catalog: Catalog,
    *,
    root: Path,
    known: Known = NOTHING_KNOWN,
    refresh: bool = False,
    progress: Progress = lambda _: None,
) -> Facts:
    """Look up all that the spec names.

    Args:
        spec: What is asked for.
        catalog: What is known without asking anyone.
        root: Where relative paths start.
        known: Facts of an earlier run; those of a source that is elsewhere are taken as they are,
            so that a plan is the same whatever the network does.
        refresh: Ask such sources again; the catalog answers for those that cannot be reached. Files
            that count users are read again, and one of probes must be there.
        progress: Told of what takes longer than two seconds.

    Raises:
        SpecError: something named is unknown or unreadable; the nearest known one is named.
    """
    counted = count_users(
        spec.users, catalog, root=root, known=known.users, refresh=refresh, progress=progress
    )
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
        users=locate_users(spec.users, counted, catalog),
        counted=counted,
        prices=_prices(spec, catalog, root, known.prices),
        probes=_probes(spec.network, catalog, root, known.probes, refresh=refresh),
    )


def _probes(
    network: NetworkSpec, catalog: Catalog, root: Path, known: ProbeFacts | None, *, refresh: bool
) -> ProbeFacts | None:
    if network.probes is None:
        return None
    from warmfleet.resolve.probes import resolve_probes  # slow to import, and most have none

    return resolve_probes(network.probes, catalog, root=root, known=known, refresh=refresh)


def _prices(
    spec: FleetSpec, catalog: Catalog, root: Path, known: "PriceFacts | None"
) -> "PriceFacts | None":
    if not isinstance(spec.placement, BaremetalPlacement):
        return None
    from warmfleet.resolve.price_facts import resolve_prices  # the lab must not wait for it

    return resolve_prices(spec.placement, catalog, root=root, known=known)
