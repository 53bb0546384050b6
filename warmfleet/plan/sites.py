"""Where the servers are: as near to the users as was asked, in as few places as that takes.

Only the users' distribution decides. No price, card or line enters here, so none can outrank it.
"""

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from warmfleet.catalog.models import Catalog, Region
from warmfleet.errors import PlanRefusedError
from warmfleet.network.distance import distance_km
from warmfleet.network.estimate import RttEstimate, estimate
from warmfleet.plan.site_models import SiteRole
from warmfleet.plan.site_refusal import beyond_the_limit
from warmfleet.plan.site_rules import SiteRules
from warmfleet.plan.site_search import Search
from warmfleet.resolve.facts import UserFacts

__all__ = ["APART_KM", "ChosenSite", "ChosenSites", "Visitors", "choose_sites"]

APART_KM = 483.0
"""Between a site and the one that stands in for it: 300 miles, as Azure pairs its regions."""

_WHOLE = 10**9
"""Shares are counted in parts of this, times in microseconds: whole numbers add up exactly."""


class Visitors(Struct, frozen=True):
    """Users of one place at the site that serves them."""

    users: UserFacts
    rtt: RttEstimate

    @property
    def weight(self) -> int:
        """Their share, as it is counted."""
        return _weight(self.users)


class ChosenSite(Struct, frozen=True):
    """One site."""

    region: Region
    role: SiteRole
    visitors: tuple[Visitors, ...]
    """Who is served; of a site that stands by, who would be."""
    load: float
    """Share of all traffic that it must carry."""


class ChosenSites(Struct, frozen=True):
    """All sites: those that serve users, the largest first, then what stands by."""

    sites: tuple[ChosenSite, ...]
    rules: SiteRules
    means_ms: Mapping[str, float]
    """Of each region, were it the only site; the least first."""
    fewer_p95_ms: float | None
    """The least that one site fewer could do; None: there is one."""

    @property
    def serving(self) -> tuple[ChosenSite, ...]:
        """Those that serve users."""
        return tuple(site for site in self.sites if site.role == "serving")


def choose_sites(users: Sequence[UserFacts], rules: SiteRules, catalog: Catalog) -> ChosenSites:
    """Choose the fewest regions that keep the limit; of these sets that of the least mean time.

    Equal means are told apart by name. The estimates decide; how far off they may be is said.

    Raises:
        PlanRefusedError: no allowed set keeps the limit, or nothing is far enough to stand by; with
            the nearest that works.
    """
    rtt = [[estimate(user.place, region, catalog) for user in users] for region in rules.regions]
    shares = [_weight(user) for user in users]
    search = Search(shares, [[round(found.ms * 1000) for found in row] for row in rtt])
    limit = None if rules.limit_ms is None else math.floor(rules.limit_ms * 1000 + 1e-6)
    picked = _pick(search, rules, limit)
    if picked is None:
        raise PlanRefusedError(beyond_the_limit(search, rules, limit or 0))
    serving = _serving(picked, users, shares, rtt, rules)
    means = {
        region.id: sum(s * found.ms for s, found in zip(shares, row, strict=True)) / sum(shares)
        for region, row in zip(rules.regions, rtt, strict=True)
    }
    return ChosenSites(
        (*serving, *([_recovery(serving, rules, catalog)] if rules.standby else [])),
        rules,
        dict(sorted(means.items(), key=lambda item: (item[1], item[0]))),
        _fewer(search, rules, picked, limit),
    )


def _weight(users: UserFacts) -> int:
    return max(1, round(users.fraction * _WHOLE))


def _pick(search: Search, rules: SiteRules, limit: int | None) -> tuple[int, ...] | None:
    if rules.given:
        given = tuple(range(len(rules.regions)))
        return given if limit is None or search.percentile(given) <= limit else None
    for count in range(1, rules.at_most + 1):
        if found := search.best(count, limit):
            return found.sites
    return None


def _fewer(
    search: Search, rules: SiteRules, picked: Sequence[int], limit: int | None
) -> float | None:
    if rules.given or limit is None or len(picked) == 1:
        return None
    return search.least_limit(len(picked) - 1, above=limit) / 1000


def _serving(
    picked: Sequence[int],
    users: Sequence[UserFacts],
    shares: Sequence[int],
    rtt: Sequence[Sequence[RttEstimate]],
    rules: SiteRules,
) -> list[ChosenSite]:
    """Send users to the nearest site; a site that is nearest to nobody is none."""
    visitors: dict[int, list[Visitors]] = {}
    counted: dict[int, int] = {}
    for at, user in enumerate(users):
        site = min(picked, key=lambda site: (round(rtt[site][at].ms * 1000), site))
        visitors.setdefault(site, []).append(Visitors(user, rtt[site][at]))
        counted[site] = counted.get(site, 0) + shares[at]
    order = sorted(visitors, key=lambda site: (-counted[site], site))
    return [
        ChosenSite(
            rules.regions[site], "serving", tuple(visitors[site]), counted[site] / sum(shares)
        )
        for site in order
    ]


def _recovery(serving: Sequence[ChosenSite], rules: SiteRules, catalog: Catalog) -> ChosenSite:
    """Choose what takes over when the largest is lost: nearest to its users of all that is far."""
    apart = {
        region.id: min(_apart_km(region, site.region) for site in serving)
        for region in rules.standby
    }
    far = [region for region in rules.standby if apart[region.id] >= APART_KM]
    if not far:
        best = max(apart, key=lambda name: apart[name])
        names = ", ".join(site.region.id for site in serving)
        furthest = f"{best} is {apart[best]:.0f} km away" if apart[best] else "there is no other"
        msg = (
            f"placement.sites.disaster_recovery: no region to choose from is {APART_KM:.0f} km or "
            f"more from {names} ({furthest}); nearest: more regions in "
            f"{rules.at.partition('[')[0]}, or disaster_recovery: false"
        )
        raise PlanRefusedError(msg)
    users = [row.users for row in serving[0].visitors]
    options = [
        (region, tuple(Visitors(user, estimate(user.place, region, catalog)) for user in users))
        for region in far
    ]

    def mean(option: tuple[Region, tuple[Visitors, ...]]) -> tuple[float, str]:
        region, visitors = option
        return sum(row.users.fraction * row.rtt.ms for row in visitors), region.id

    region, visitors = min(options, key=mean)
    return ChosenSite(region, "recovery", visitors, serving[0].load)


def _apart_km(one: Region, other: Region) -> float:
    return distance_km(one.latitude, one.longitude, other.latitude, other.longitude)
