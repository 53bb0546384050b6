"""The region: nearest to the users, by their shares."""

from collections.abc import Sequence

from inference_app.problems import nearest
from warmfleet.catalog.models import Catalog
from warmfleet.errors import SpecError
from warmfleet.network.estimate import RttEstimate, estimate
from warmfleet.plan.choice import Choice
from warmfleet.resolve.facts import UserFacts

__all__ = ["choose_region"]


def choose_region(
    users: Sequence[UserFacts], catalog: Catalog, *, asked: str | None = None
) -> Choice[str]:
    """Choose the region with the least mean round-trip time over all users, or keep the asked one.

    Raises:
        SpecError: the asked region is not in the catalog; the nearest name is given.
    """
    if asked is not None:
        _must_be_known(asked, catalog)
    rtt = {
        region.id: [(user, estimate(user.place, region, catalog)) for user in users]
        for region in catalog.regions
    }
    means = {
        name: sum(user.fraction * found.ms for user, found in rows) for name, rows in rtt.items()
    }
    ranked = sorted(means, key=lambda name: (means[name], name))
    best = asked or ranked[0]
    region = next(row for row in catalog.regions if row.id == best)
    inputs: dict[str, str | int | float | bool] = {
        f"rtt_ms_{user.place.id}": found.ms for user, found in rtt[best]
    }
    inputs |= {f"mean_rtt_ms_{name}": means[name] for name in ranked[:3]}
    others = f"; next is {ranked[1]} with {means[ranked[1]]:.1f} ms" if len(ranked) > 1 else ""
    if best != ranked[0]:
        others = f"; {ranked[0]} would have {means[ranked[0]]:.1f} ms"
    return Choice(
        best,
        f"{'least' if asked is None else 'asked for;'} mean round-trip time by users' shares: "
        f"{means[best]:.1f} ms ({_bounds(rtt[best])}){others}",
        inputs,
        f"{'; '.join(dict.fromkeys(found.source for _, found in rtt[best]))}; region: "
        f"{region.source}",
    )


def _must_be_known(asked: str, catalog: Catalog) -> None:
    names = [region.id for region in catalog.regions]
    if asked not in names:
        hint = nearest(asked, names) or f"; known: {', '.join(names)}"
        msg = f"placement.region: found {asked!r}, which the catalog does not know{hint}"
        raise SpecError(msg)


def _bounds(rtt: Sequence[tuple[UserFacts, RttEstimate]]) -> str:
    low = sum(user.fraction * found.low_ms for user, found in rtt)
    high = sum(user.fraction * found.high_ms for user, found in rtt)
    bases = "and ".join(dict.fromkeys(found.basis for _, found in rtt))
    return f"{bases}, between {low:.1f} and {high:.1f} for 80 of 100 paths"
