"""Why no allowed set of sites is near enough, and what would be."""

import math

from warmfleet.plan.site_rules import SiteRules
from warmfleet.plan.site_search import PERCENTILE, Search
from warmfleet.spec.placement import MAX_SITES

__all__ = ["beyond_the_limit"]


def beyond_the_limit(search: Search, rules: SiteRules, limit_us: int) -> str:
    """Return the refusal of a limit that the given sites, or any that may be chosen, break."""
    if rules.given:
        sites = tuple(range(len(rules.regions)))
        least = search.percentile(sites)
        where = f"from {' and '.join(region.id for region in rules.regions)}"
    else:
        count = min(rules.at_most, len(rules.regions))
        least = search.least_limit(count)
        found = next(filter(None, (search.best(few, least) for few in range(1, count + 1))))
        sites = found.sites
        names = ", ".join(rules.regions[site].id for site in sites)
        where = f"with {count} site{'s' if count > 1 else ''} at most ({names})"
    hints = [f"{_whole_ms(least)} ms"]
    if (more := _more_sites(search, rules, limit_us)) is not None:
        hints.append(f"placement.sites.at_most: {more}")
    if rules.leased or rules.at == "placement.servers":
        hints.append("servers in more regions, each with its region")
    elif rules.given:
        hints.append("no region, so that nearer ones are used")
    return (
        f"slo.rtt_p95: asked {limit_us / 1000:g} ms, but {where} {PERCENTILE} % of the users are "
        f"within {least / 1000:.1f} ms, and {search.share_within(sites, limit_us):.0%} within "
        f"{limit_us / 1000:g} ms, by the estimates; nearest: {', or '.join(hints)}"
    )


def _more_sites(search: Search, rules: SiteRules, limit_us: int) -> int | None:
    if rules.given or rules.leased or rules.at in {"placement", "placement.servers"}:
        return None
    for count in range(rules.at_most + 1, min(MAX_SITES, len(rules.regions)) + 1):
        if search.least_limit(count) <= limit_us:
            return count
    return None


def _whole_ms(limit_us: int) -> int:
    return math.ceil(limit_us / 1000)
