"""Why a site is where it is, how far its users are, and what its place entails."""

from collections.abc import Iterable, Iterator, Sequence

from warmfleet.catalog.models import Catalog
from warmfleet.network.estimate import estimate
from warmfleet.plan.choice import Choice
from warmfleet.plan.models import Decision, Scalar
from warmfleet.plan.site_models import RttPlan, SiteUsersPlan
from warmfleet.plan.site_search import PERCENTILE, percentile
from warmfleet.plan.sites import APART_KM, ChosenSite, ChosenSites, Visitors

__all__ = ["choose_region", "explain_site", "explain_sites", "plan_rtt", "plan_users"]

_ICP = "help.aliyun.com/en/document_detail/145343.html"
_APART = "learn.microsoft.com/azure/reliability/cross-region-replication-azure (region pairs)"
_ROUNDED = 3
"""Decimals of a millisecond, and of a percent: what is committed need not differ in the tenth."""


def plan_users(site: ChosenSite, catalog: Catalog) -> list[SiteUsersPlan]:
    """Return the users of a site, most first."""
    ranked = sorted(site.visitors, key=lambda row: (-row.users.fraction, row.users.place.id))
    return [
        SiteUsersPlan(
            where=row.users.place.id,
            share=round(row.users.fraction, _ROUNDED + 2),
            rtt_ms=round(row.rtt.ms, _ROUNDED),
            low_ms=round(row.rtt.low_ms, _ROUNDED),
            high_ms=round(row.rtt.high_ms, _ROUNDED),
            basis=row.rtt.basis,
            cross_border=_crosses(row, site),
            by_carrier_ms=_by_carrier(row, site, catalog),
        )
        for row in ranked
    ]


def plan_rtt(visitors: Sequence[Visitors]) -> RttPlan:
    """Return the times of users by their shares."""
    shares = [row.weight for row in visitors]
    mean = sum(s * row.rtt.ms for s, row in zip(shares, visitors, strict=True)) / sum(shares)
    return RttPlan(
        mean_ms=round(mean, _ROUNDED),
        p95_ms=round(percentile([row.rtt.ms for row in visitors], shares), _ROUNDED),
        p95_low_ms=round(percentile([row.rtt.low_ms for row in visitors], shares), _ROUNDED),
        p95_high_ms=round(percentile([row.rtt.high_ms for row in visitors], shares), _ROUNDED),
    )


def choose_region(chosen: ChosenSites, site: ChosenSite) -> Choice[str]:
    """Return the region of a site with its reason and the nearest others."""
    if site.role == "recovery":
        return _recovery(chosen, site)
    rtt, name = plan_rtt(site.visitors), site.region.id
    inputs: dict[str, Scalar] = {
        f"rtt_ms_{row.users.place.id}": row.rtt.ms for row in site.visitors
    }
    inputs |= {f"mean_rtt_ms_{other}": chosen.means_ms[other] for other in [*chosen.means_ms][:3]}
    bases = " and ".join(dict.fromkeys(row.rtt.basis for row in site.visitors))
    reason = (
        f"{rtt.mean_ms:.1f} ms ({bases}), {PERCENTILE} % within {rtt.p95_ms:.1f} ms "
        f"({rtt.p95_low_ms:.1f} to {rtt.p95_high_ms:.1f} by the bounds of 80 in 100 paths)"
    )
    if len(chosen.serving) == 1:
        least = next(iter(chosen.means_ms))
        begun = "asked for; " if chosen.rules.given else "" if name != least else "least "
        reason = f"{begun}mean round-trip time by users' shares: {reason}{_others(chosen, name)}"
    else:
        reason = f"{_why_several(chosen)}; its users' mean round-trip time: {reason}"
    sources = f"{_sources(site.visitors)}; region: {site.region.source}"
    return Choice(name, reason, inputs, sources)


def explain_sites(chosen: ChosenSites, rtt: RttPlan) -> Iterator[Decision]:
    """Yield what all sites together come to."""
    limit = chosen.rules.limit_ms
    reason = f"over all users, each to the nearest of {len(chosen.serving)} sites, by the estimates"
    if len(chosen.serving) == 1:
        reason = "over all users, by the estimates"
    inputs: dict[str, Scalar] = {"low_ms": rtt.p95_low_ms, "high_ms": rtt.p95_high_ms}
    if limit is not None:
        reason += f"; asked {limit:g} ms"
        inputs["asked_ms"] = limit
        if rtt.p95_high_ms > limit:
            reason += f", which their upper bounds would miss ({rtt.p95_high_ms:.1f} ms): probe it"
    sources = _sources(row for site in chosen.serving for row in site.visitors)
    yield Choice(rtt.p95_ms, reason, inputs, sources).decision("rtt.p95_ms")


def explain_site(
    site: ChosenSite, users: Sequence[SiteUsersPlan], rtt: RttPlan, at: str
) -> Iterator[Decision]:
    """Yield what a site's place entails."""
    yield Choice(
        rtt.p95_ms,
        f"{PERCENTILE} % of its users are within it, by their shares; between {rtt.p95_low_ms:.1f} "
        f"and {rtt.p95_high_ms:.1f} ms by the bounds of 80 in 100 paths",
        {row.where: row.rtt_ms for row in users},
        _sources(site.visitors),
    ).decision(f"{at}.rtt.p95_ms")
    yield Choice(
        site.region.mainland,
        "in mainland China: a website that is served here needs an ICP filing first"
        if site.region.mainland
        else "outside mainland China",
        {"country": site.region.country},
        f"ICP filing: {_ICP}",
    ).decision(f"{at}.icp_filing")
    if abroad := [row for row in users if row.cross_border]:
        share = sum(row.share for row in abroad)
        way = "outside, the users in it" if not site.region.mainland else "in it, the users outside"
        yield Choice(
            round(share, _ROUNDED + 2),
            f"the site is {way}: their packets cross the border of mainland China, where times "
            f"vary most: {'; '.join(map(_told, abroad))}",
            {row.where: row.rtt_ms for row in abroad},
            _sources(site.visitors),
        ).decision(f"{at}.cross_border_share")


def _recovery(chosen: ChosenSites, site: ChosenSite) -> Choice[str]:
    largest, rtt = chosen.sites[0], plan_rtt(site.visitors)
    return Choice(
        site.region.id,
        f"stands by for the loss of {largest.region.id}, with its whole load: of all regions "
        f"{APART_KM:.0f} km or more from every site that with the least mean round-trip time of "
        f"its users, {rtt.mean_ms:.1f} ms, 95 % within {rtt.p95_ms:.1f} ms",
        {"apart_km": APART_KM, "load": site.load},
        f"{_APART}; region: {site.region.source}",
    )


def _others(chosen: ChosenSites, name: str) -> str:
    others = [other for other in chosen.means_ms if other != name]
    if not others:
        return ""
    if chosen.means_ms[others[0]] < chosen.means_ms[name]:
        return f"; {others[0]} would have {chosen.means_ms[others[0]]:.1f} ms"
    return f"; next is {others[0]} with {chosen.means_ms[others[0]]:.1f} ms"


def _why_several(chosen: ChosenSites) -> str:
    count = len(chosen.serving)
    if chosen.rules.leased or chosen.fewer_p95_ms is None:
        return f"one of {count} sites where servers are leased"
    fewer = count - 1
    return (
        f"one of {count} sites: with {fewer} at best {PERCENTILE} % of users are within "
        f"{chosen.fewer_p95_ms:.1f} ms, asked {chosen.rules.limit_ms:g} ms; of all sets of {count} "
        "that keep it, that with the least mean"
    )


def _by_carrier(row: Visitors, site: ChosenSite, catalog: Catalog) -> dict[str, float]:
    """Return what the users of each carrier have on its ordinary line, where carriers differ."""
    place = row.users.place
    if not (place.mainland and _crosses(row, site)):
        return {}
    found = {}
    for carrier in catalog.carriers:
        rtt = estimate(place, site.region, catalog, carrier=carrier.id, line="ordinary")
        found[carrier.id] = round(rtt.ms, _ROUNDED)
    return found if len(set(found.values())) > 1 else {}


def _crosses(row: Visitors, site: ChosenSite) -> bool:
    return row.users.place.mainland != site.region.mainland


def _told(users: SiteUsersPlan) -> str:
    carriers = ", ".join(f"{name} {ms:.0f}" for name, ms in users.by_carrier_ms.items())
    bounds = f"{users.low_ms:.0f} to {users.high_ms:.0f}"
    said = f"{users.where} ({users.share:.1%}) {users.rtt_ms:.0f} ms, {bounds}"
    return f"{said} (on ordinary lines: {carriers})" if carriers else said


def _sources(visitors: Iterable[Visitors]) -> str:
    return "; ".join(dict.fromkeys(row.rtt.source for row in visitors))
