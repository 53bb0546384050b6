"""Which regions a site may be in, how many there may be, and how near they must be."""

from collections.abc import Sequence

from msgspec import Struct

from inference_app.problems import nearest
from warmfleet.catalog.models import Catalog, Region
from warmfleet.errors import PlanRefusedError, SpecError
from warmfleet.spec.models import FleetSpec
from warmfleet.spec.placement import BaremetalPlacement, LabPlacement

__all__ = ["SiteRules", "rules_of"]


class SiteRules(Struct, frozen=True):
    """What the spec leaves to choose."""

    regions: tuple[Region, ...]
    """In the order of their names."""
    at: str
    """Field that decides on the regions."""
    given: bool
    """The spec names the sites: each of the regions is one."""
    leased: bool
    """Servers are there already, and nowhere else."""
    at_most: int
    limit_ms: float | None
    """Of the 95th percentile of users."""
    standby: tuple[Region, ...]
    """Where a site may stand by; none where that is not asked for."""


def rules_of(spec: FleetSpec, catalog: Catalog) -> SiteRules:
    """Return the rules of a spec; the lab counts as one site in the region nearest to its users.

    Raises:
        SpecError: a region that the catalog does not know; the nearest name is given.
        PlanRefusedError: a region in mainland China where no ICP filing will be made.
    """
    placement = spec.placement
    limit_ms = spec.slo.rtt_p95.seconds * 1000 if spec.slo.rtt_p95 else None
    everywhere = tuple(sorted(catalog.regions, key=lambda region: region.id))
    if isinstance(placement, LabPlacement):
        return SiteRules(
            everywhere,
            "placement",
            given=False,
            leased=False,
            at_most=1,
            limit_ms=limit_ms,
            standby=(),
        )
    named = list(_named(placement))
    regions = _known(named, everywhere) if named else everywhere
    if not placement.icp_filing:
        _must_be_abroad(named, regions, everywhere)
        regions, everywhere = _abroad(regions), _abroad(everywhere)
    leased = any(server.region for server in placement.servers)
    recovery = placement.sites.disaster_recovery
    if recovery and placement.servers and not leased:
        msg = (
            "placement.sites.disaster_recovery: found true, but servers name no region; needed the "
            "region of each server, one of them far from the others"
        )
        raise PlanRefusedError(msg)
    # Servers that name no region are all in one place.
    one_place = bool(placement.servers) and not leased
    return SiteRules(
        regions,
        named[0][0] if named else "placement.servers" if one_place else "placement.icp_filing",
        given=placement.region is not None or (leased and not recovery),
        leased=leased,
        at_most=1 if one_place else len(regions) if leased else placement.sites.at_most,
        limit_ms=limit_ms,
        standby=(everywhere if placement.region is not None else regions) if recovery else (),
    )


def _abroad(regions: Sequence[Region]) -> tuple[Region, ...]:
    return tuple(region for region in regions if not region.mainland)


def _named(placement: BaremetalPlacement) -> list[tuple[str, str]]:
    """Return field and name of each region that the spec names."""
    if placement.region is not None:
        return [("placement.region", placement.region)]
    leased = [
        (f"placement.servers[{index}].region", server.region)
        for index, server in enumerate(placement.servers)
        if server.region is not None
    ]
    return leased or [
        (f"placement.sites.regions[{index}]", name)
        for index, name in enumerate(placement.sites.regions)
    ]


def _known(named: Sequence[tuple[str, str]], regions: Sequence[Region]) -> tuple[Region, ...]:
    names = [region.id for region in regions]
    for at, name in named:
        if name not in names:
            hint = nearest(name, names) or f"; known: {', '.join(names)}"
            msg = f"{at}: found {name!r}, which the catalog does not know{hint}"
            raise SpecError(msg)
    wanted = {name for _, name in named}
    return tuple(region for region in regions if region.id in wanted)


def _must_be_abroad(
    named: Sequence[tuple[str, str]], regions: Sequence[Region], everywhere: Sequence[Region]
) -> None:
    inside = {region.id for region in regions if region.mainland}
    for at, name in named:
        if name in inside and (at == "placement.region" or at.startswith("placement.servers")):
            near = [region.id for region in everywhere if region.area == "hongkong"]
            msg = (
                f"{at}: found {name}, in mainland China, where a website needs an ICP filing, but "
                f"placement.icp_filing is false; nearest: {' or '.join(near)}, or icp_filing: true"
            )
            raise PlanRefusedError(msg)
    if inside and len(inside) == len(regions):
        msg = (
            "placement.sites.regions: all of them are in mainland China, where a website needs an "
            "ICP filing, but placement.icp_filing is false; nearest: a region elsewhere, or "
            "icp_filing: true"
        )
        raise PlanRefusedError(msg)
