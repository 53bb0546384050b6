"""Which line: BGP, carriers' own lines or premium ones, by milliseconds and money."""

from collections.abc import Callable, Sequence
from itertools import combinations

from msgspec import Struct

from inference_app.problems import nearest
from warmfleet.catalog.lines import Line
from warmfleet.catalog.models import Catalog, Region
from warmfleet.errors import PlanRefusedError, SpecError
from warmfleet.plan.billing import Bill
from warmfleet.plan.line_paths import (
    Path,
    carrier_means,
    mean_ms,
    paths,
    percentile_ms,
    reaches,
)
from warmfleet.plan.models import LineOption, LinePart
from warmfleet.resolve.facts import UserFacts
from warmfleet.spec.network import NetworkSpec

__all__ = ["MATERIAL_SHARE", "SLACK_MS", "Priced", "Weighed", "carrier_shares", "choose_line"]

SLACK_MS = 5.0
"""Lines this close to the best count as equal: the times are not known better."""

MATERIAL_SHARE = 0.05
"""Of the users: a carrier with fewer may be left to cross over to another one."""

_P95 = 0.95


class Priced(Struct, frozen=True):
    """What a line comes to for the load of a site."""

    parts: list[LinePart]
    bills: list[Bill]
    """One for each way of billing."""
    bill: Bill
    """The one to take."""


class Weighed(Struct, frozen=True):
    """A line, what it does for the users, and what it costs."""

    lines: tuple[Line, ...]
    paths: list[Path]
    priced: Priced
    against: str | None = None

    @property
    def id(self) -> str:
        """Its name in spec and plan."""
        return "+".join(line.id for line in self.lines)

    @property
    def name(self) -> str:
        """Its name for people."""
        return " + ".join(line.name for line in self.lines)

    @property
    def ms(self) -> float:
        """Mean round-trip time."""
        return mean_ms(self.paths)

    @property
    def p95_ms(self) -> float:
        """Round-trip time that 95 % of the users do not exceed."""
        return percentile_ms(self.paths, _P95)

    @property
    def option(self) -> LineOption:
        """What the plan says of it."""
        means, bill = carrier_means(self.paths), self.priced.bill
        worst = max(means, key=lambda name: round(means[name], 6)) if means else None
        return LineOption(
            line=self.id,
            rtt_ms=round(self.ms, 1),
            rtt_low_ms=round(sum(path.weight * path.low_ms for path in self.paths), 1),
            rtt_high_ms=round(sum(path.weight * path.high_ms for path in self.paths), 1),
            rtt_p95_ms=round(self.p95_ms, 1),
            worst_carrier=worst,
            worst_ms=round(means[worst] if worst else self.ms, 1),
            billing=bill.billing,
            monthly=None if bill.monthly is None else round(bill.monthly, 2),
            currency=bill.currency,
            example=bill.example,
            against=self.against,
        )


def carrier_shares(network: NetworkSpec, catalog: Catalog) -> dict[str, float]:
    """Return the shares of carriers among users in the mainland: as said, else the national ones.

    Raises:
        SpecError: a carrier that the catalog does not know.
    """
    known = [carrier.id for carrier in catalog.carriers]
    for name in network.carriers:
        if name not in known:
            hint = nearest(name, known) or f"; known: {', '.join(known)}"
            msg = f"network.carriers.{name}: found {name!r}, which the catalog does not know{hint}"
            raise SpecError(msg)
    if network.carriers:
        return {name: share.fraction for name, share in network.carriers.items()}
    total = sum(carrier.fixed_share_pct for carrier in catalog.carriers)
    return {carrier.id: carrier.fixed_share_pct / total for carrier in catalog.carriers}


def choose_line(
    region: Region,
    users: Sequence[UserFacts],
    network: NetworkSpec,
    catalog: Catalog,
    price: Callable[[Sequence[Line], Sequence[Path]], Priced],
    *,
    rtt_p95_ms: float | None = None,
) -> tuple[Weighed, list[Weighed]]:
    """Choose a line, or keep the one that the spec names; return it and all that were weighed.

    Where ``rtt_p95_ms`` is asked, every line that keeps it is near enough; else those within
    ``SLACK_MS`` of the best. Among them the cheapest that leaves no carrier of
    ``MATERIAL_SHARE`` or more to cross over to another one.

    Raises:
        SpecError: the asked line is not in the catalog.
        PlanRefusedError: it is not sold there or does not keep ``rtt_p95_ms``; or no line is as
            large as the load needs.
    """
    shares = carrier_shares(network, catalog)
    asked = _asked(network, catalog)
    sold = _sold(region, users, catalog)
    if asked is not None and asked not in sold:
        single = ", ".join(_id(lines) for lines in sold if len(lines) == 1)
        apart = all((line,) in sold for line in asked)
        why = "not lines of single carriers" if apart else "not for users and servers like these"
        msg = f"network.line: asked {_id(asked)} at {region.id}, {why}; nearest: one of {single}"
        raise PlanRefusedError(msg)
    reached = reaches(region, users, shares, catalog)
    weighed: list[Weighed] = []
    for lines in sold:
        found = paths(lines, reached)
        weighed.append(Weighed(lines, found, price(lines, found)))
    by_id = {one.id: one for one in weighed}
    if asked is not None:
        chosen = by_id[_id(asked)]
        _must_keep(chosen, weighed, rtt_p95_ms)
        against = {one.id: "another one is asked for" for one in weighed}
    else:
        chosen, against = _choose(weighed, network, catalog, rtt_p95_ms)
    return chosen, [
        one if one is chosen else Weighed(one.lines, one.paths, one.priced, against[one.id])
        for one in weighed
    ]


def _choose(
    weighed: Sequence[Weighed], network: NetworkSpec, catalog: Catalog, rtt_p95_ms: float | None
) -> tuple[Weighed, dict[str, str]]:
    against: dict[str, str] = {}
    names = {carrier.id: carrier.name for carrier in catalog.carriers}
    able = []
    for one in weighed:
        if (left := _crossing(one)) is not None:
            carrier, share = left
            against[one.id] = f"leaves {names[carrier]} ({share:.1%} of the users) to cross over"
        elif len(one.lines) > 1 and not network.dns_by_carrier:
            against[one.id] = "has an address a carrier: needs network.dns_by_carrier"
        else:
            able.append(one)
    best = min(one.ms for one in able)
    kept = [one for one in able if rtt_p95_ms is not None and one.p95_ms <= rtt_p95_ms]
    near = kept or [one for one in able if one.ms <= best + SLACK_MS]
    for one in able:
        if one not in near:
            late = f"its p95 is {one.p95_ms:.0f} ms" if kept else f"{one.ms - best:.0f} ms slower"
            against[one.id] = late
    chosen = min(near, key=lambda one: (_money(one), one.ms, len(one.lines), one.id))
    for one in near:
        dearer = _money(one) - _money(chosen)
        unknown = one.priced.bill.monthly is None
        against.setdefault(one.id, "its price is on enquiry" if unknown else _dearer(one, dearer))
    return chosen, against


def _dearer(one: Weighed, by: float) -> str:
    return f"{by:,.0f} {one.priced.bill.currency} a month dearer" if by > 0 else "no better"


def _money(one: Weighed) -> float:
    """An unknown price comes after every known one."""
    return float("inf") if one.priced.bill.monthly is None else one.priced.bill.monthly


def _crossing(one: Weighed) -> tuple[str, float] | None:
    shares: dict[str, float] = {}
    for path in one.paths:
        if path.crosses and path.carrier is not None:
            shares[path.carrier] = shares.get(path.carrier, 0.0) + path.weight
    if not shares:
        return None
    carrier = max(shares, key=lambda name: (shares[name], name))
    return (carrier, shares[carrier]) if shares[carrier] >= MATERIAL_SHARE - 1e-9 else None


def _must_keep(chosen: Weighed, weighed: Sequence[Weighed], rtt_p95_ms: float | None) -> None:
    if rtt_p95_ms is None or chosen.p95_ms <= rtt_p95_ms:
        return
    # Where no line keeps it, it is not the line: the limit is for all sites together.
    keeps = [one for one in weighed if one.p95_ms <= rtt_p95_ms and len(one.lines) == 1]
    if not keeps:
        return
    msg = (
        f"network.line: asked {chosen.id}, over which the 95th percentile of round trips is "
        f"{chosen.p95_ms:.0f} ms, but slo.rtt_p95 is {rtt_p95_ms:g} ms "
        f"({chosen.p95_ms - rtt_p95_ms:.0f} ms too long); nearest: {keeps[0].id}, "
        f"or slo.rtt_p95 {chosen.p95_ms:.0f} ms"
    )
    raise PlanRefusedError(msg)


def _asked(network: NetworkSpec, catalog: Catalog) -> tuple[Line, ...] | None:
    if network.line is None:
        return None
    known = {line.id: line for line in catalog.lines}
    for name in network.line.split("+"):
        if name not in known:
            hint = nearest(name, list(known)) or f"; known: {', '.join(known)}"
            msg = f"network.line: found {name!r}, which the catalog does not know{hint}"
            raise SpecError(msg)
    names = set(network.line.split("+"))
    return tuple(line for line in catalog.lines if line.id in names)


def _sold(region: Region, users: Sequence[UserFacts], catalog: Catalog) -> list[tuple[Line, ...]]:
    """Return what is sold: carriers' own lines in the mainland, premium ones over its border."""
    abroad = any(user.place.mainland != region.mainland for user in users)
    lines: list[tuple[Line, ...]] = []
    for kind, sold in (("multi", True), ("single", region.mainland), ("premium", abroad)):
        of_kind = [line for line in catalog.lines if line.kind == kind]
        most = len(of_kind) if kind == "single" else 1
        if sold:
            lines += [each for count in range(1, most + 1) for each in combinations(of_kind, count)]
    return lines


def _id(lines: Sequence[Line]) -> str:
    return "+".join(line.id for line in lines)
