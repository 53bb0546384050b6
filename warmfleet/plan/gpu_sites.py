"""Models at sites: one kind of cards and one engine each, replicas by every site's own load."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from warmfleet.errors import PlanRefusedError
from warmfleet.plan.choice import Choice
from warmfleet.plan.gpu_choice import Chosen, choose_cards
from warmfleet.plan.gpu_placement import Placed, place_models
from warmfleet.plan.gpu_pools import Pool, pools_of
from warmfleet.plan.gpu_replicas import Staffing, staff
from warmfleet.plan.gpu_wanted import Wanted
from warmfleet.plan.models import Scalar
from warmfleet.plan.price_list import PriceList
from warmfleet.plan.sites import ChosenSite
from warmfleet.plan.updates import Update, choose_updates
from warmfleet.sizing.offers import offers
from warmfleet.spec.models import CallerSpec, SloSpec, UpdatesSpec
from warmfleet.spec.placement import BaremetalPlacement

__all__ = ["StaffedModel", "StaffedSite", "callers_at", "models_of", "staff_sites"]


class StaffedSite(Struct, frozen=True):
    """A site with the replicas of every model, in the order of the models."""

    site: ChosenSite
    placement: BaremetalPlacement
    """With the servers of this site alone."""
    chosen: tuple[Chosen, ...]
    staffing: tuple[Staffing, ...]
    placed: Placed
    updates: tuple[Update, ...]


class StaffedModel(Struct, frozen=True):
    """A model over all sites."""

    chosen: Chosen
    """At the site where the first token comes last."""
    staffing: Staffing
    placed: Placed
    """Residency and sharing are those of the site that is worst off; it has no groups."""


def callers_at(callers: Sequence[CallerSpec], load: float) -> tuple[CallerSpec, ...]:
    """Return the callers as a site with such a share of all traffic meets them."""
    if load == 1:
        return tuple(callers)
    return tuple(
        caller.model_copy(update={"peak_qps": caller.peak_qps * load}) for caller in callers
    )


def staff_sites(
    wanted: Sequence[Wanted],
    sites: Sequence[ChosenSite],
    placement: BaremetalPlacement,
    prices: PriceList,
    updates: UpdatesSpec,
    slo: SloSpec,
) -> tuple[StaffedSite, ...]:
    """Choose cards for the largest site, and for all of them replicas and places.

    Every site keeps the promises by itself, spares included: its users are near no other.

    Args:
        wanted: the models, with all of their load.
        sites: the largest first.
        placement: what servers there are, or may be.
        prices: which cards are on offer, and for how much.
        updates: replicas that are ready while one is worked on, at every site; and how one is.
        slo: what the endpoint is held to.

    Raises:
        PlanRefusedError: as choose_cards, staff, place_models and choose_updates do; with the site
            where there are several.
    """
    own = [_servers_at(placement, site) for site in sites]
    pools = [
        _alike(pools_of(one, prices, site.region.id)) for one, site in zip(own, sites, strict=True)
    ]
    common = [pool for cards, pool in pools[0].items() if all(cards in others for others in pools)]
    if not common:
        raise PlanRefusedError(_no_common_cards(sites, pools))
    at = "placement.servers" if placement.servers else "placement.gpu"
    chosen = []
    for one in wanted:
        largest, *rest = (_at(one, site.load) for site in sites)
        cards = choose_cards(largest, common, at=at, elsewhere=rest)
        chosen.append(_at_all(cards, one, sites, pools))
    staffed = []
    for index, site in enumerate(sites):
        here = tuple(model[index] for model in chosen)
        try:
            staffing = tuple(staff(one, updates.floor or 0) for one in here)
            placed = place_models(here, staffing, _host_memory(own[index]), slo, site=index)
            how = choose_updates(here, staffing, placed.groups, own[index], updates)
        except PlanRefusedError as error:
            if len(sites) == 1:
                raise
            msg = f"{error} (site {site.region.id})"
            raise PlanRefusedError(msg) from error
        # Two copies on a card leave each no more than what it must have, at any time.
        twice = {one.model for one in how if one.strategy.value == "side_by_side"}
        placed = replace(placed, shared=placed.shared | twice)
        staffed.append(StaffedSite(site, own[index], here, staffing, placed, how))
    return tuple(staffed)


def models_of(staffed: Sequence[StaffedSite]) -> list[StaffedModel]:
    """Return each model over all sites."""
    return [_model(staffed, index) for index in range(len(staffed[0].chosen))]


def _model(staffed: Sequence[StaffedSite], index: int) -> StaffedModel:
    chosen = [site.chosen[index] for site in staffed]
    slowest = max(chosen, key=lambda one: one.offer.deployment.service.ttft_p95_s)
    staffing = [site.staffing[index] for site in staffed]
    name = slowest.wanted.spec.name
    stays = [site.placed.residency[name] for site in staffed]
    shared = frozenset().union(*(site.placed.shared for site in staffed))
    placed = Placed((), (), {name: max(stays, key=lambda row: row[0].wait_s)}, shared)
    if len(staffed) == 1:
        return StaffedModel(slowest, staffing[0], placed)
    counts: dict[str, Scalar] = {
        site.site.region.id: one.replicas.value for site, one in zip(staffed, staffing, strict=True)
    }
    total = Choice(
        sum(one.replicas.value for one in staffing),
        "each site carries the load of its own users, spares included: "
        + ", ".join(f"{count} in {region}" for region, count in counts.items()),
        counts,
        staffing[0].replicas.source,
    )
    spare = sum(one.spare for one in staffing)
    return StaffedModel(slowest, Staffing(total, max(one.each for one in staffing), spare), placed)


def _at(wanted: Wanted, load: float) -> Wanted:
    return replace(wanted, callers=callers_at(wanted.callers, load))


def _at_all(
    chosen: Chosen,
    wanted: Wanted,
    sites: Sequence[ChosenSite],
    pools: Sequence[Mapping[tuple[str, int | None], Pool]],
) -> list[Chosen]:
    """Return the choice of the first site at all of them, each with its own load."""
    if len(sites) == 1:
        return [chosen]
    layout = chosen.offer.layout
    cards = (chosen.pool.gpu.id, chosen.pool.cards)
    rents = {} if chosen.pool.rent is None else {layout.gpu.id: chosen.pool.rent}
    found = []
    for site, there in zip(sites, pools, strict=True):
        here = _at(wanted, site.load)
        asked = here.asked(chosen.precision)
        weighed = offers(asked, [layout.gpu], counts=(layout.count,), rents=rents)
        if not weighed.ranked:  # less load than the cards were chosen for
            raise AssertionError(weighed.refused)
        found.append(replace(chosen, wanted=here, pool=there[cards], offer=weighed.ranked[0]))
    # One engine has one setting: that of the replicas with most requests at a time.
    fit = max((one.offer.fit for one in found), key=lambda fit: fit.concurrency)
    return [replace(one, offer=replace(one.offer, fit=fit)) for one in found]


def _servers_at(placement: BaremetalPlacement, site: ChosenSite) -> BaremetalPlacement:
    """Return the placement with the servers of one site; without regions there is one site."""
    if not any(server.region for server in placement.servers):
        return placement
    here = tuple(server for server in placement.servers if server.region == site.region.id)
    return placement.model_copy(update={"servers": here})


def _alike(pools: Sequence[Pool]) -> dict[tuple[str, int | None], Pool]:
    return {(pool.gpu.id, pool.cards): pool for pool in pools}


def _no_common_cards(
    sites: Sequence[ChosenSite], pools: Sequence[Mapping[tuple[str, int | None], Pool]]
) -> str:
    there = "; ".join(
        f"{site.region.id} has {', '.join(map(str, here.values()))}"
        for site, here in zip(sites, pools, strict=True)
    )
    return (
        f"placement.servers: sites have no cards in common ({there}), and a model runs on the same "
        "cards everywhere; nearest: servers with the same cards at every site"
    )


def _host_memory(placement: BaremetalPlacement) -> dict[str, int]:
    return {
        server.name: server.contract.ram.bytes
        for server in placement.servers
        if server.contract.ram is not None
    }
