"""A site of a plan as lines for people: whom it serves, how far they are, what that entails."""

from collections.abc import Iterator, Sequence

from warmfleet.plan.gpu_models import GpuSitePlan
from warmfleet.plan.notices import slower_line
from warmfleet.plan.site_models import RttPlan, SiteUsersPlan

__all__ = ["all_users_line", "site_lines"]

_NAMED = 6
"""Places that are named, most users first; the rest is counted."""


def all_users_line(rtt: RttPlan) -> str:
    """Return the line about the users of all sites."""
    return f"users    {_times(rtt)}, each at the nearest site"


def site_lines(site: GpuSitePlan) -> Iterator[str]:
    """Yield lines about one site."""
    if site.role == "recovery":
        yield ("  stands by for the loss of the largest site, with its whole load; it would serve:")
    yield f"  users    {_named(site.users)}"
    yield f"  time     {_times(site.rtt)}; it can carry {site.load:.0%} of all traffic"
    if (slower := slower_line(site)) is not None:
        yield f"  line     {slower}"
    if site.cross_border_share:
        yield (
            f"  border   {site.cross_border_share:.0%} of all users reach it across the border of "
            f"mainland China{_by_carrier(site.users)}"
        )
    if site.icp_filing:
        yield "  filing   a website that is served here needs an ICP filing"


def _named(users: Sequence[SiteUsersPlan]) -> str:
    named = ", ".join(f"{row.where} {row.share:.1%} {row.rtt_ms:.0f} ms" for row in users[:_NAMED])
    rest = users[_NAMED:]
    if not rest:
        return named
    furthest = max(row.rtt_ms for row in rest)
    share = sum(row.share for row in rest)
    return f"{named}, and {len(rest)} more places ({share:.1%}, at most {furthest:.0f} ms)"


def _times(rtt: RttPlan) -> str:
    return (
        f"mean {rtt.mean_ms:.0f} ms, 95 % within {rtt.p95_ms:.0f} ms ({rtt.p95_low_ms:.0f} to "
        f"{rtt.p95_high_ms:.0f} by the bounds of 80 in 100 paths)"
    )


def _by_carrier(users: Sequence[SiteUsersPlan]) -> str:
    first = next((row for row in users if row.by_carrier_ms), None)
    if first is None:
        return ""
    carriers = ", ".join(f"{name} {ms:.0f} ms" for name, ms in first.by_carrier_ms.items())
    return f"; on ordinary lines from {first.where}: {carriers}"
