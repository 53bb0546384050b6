"""The fewest regions that bring users near enough, and of those the nearest: exact, by bounds.

Shares and times are whole numbers, so that sums do not depend on their order and equal sets are
equal: what is chosen is what trying every set would choose.
"""

import bisect
import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import TypeVar

from msgspec import Struct

__all__ = ["PERCENTILE", "Reach", "Search", "percentile"]

PERCENTILE = 95
"""Of users, by their shares: a few far ones should not decide for all."""

Time = TypeVar("Time", int, float)


class Reach(Struct, frozen=True):
    """Sites, and how near they are.

    Attributes:
        sites: indexes of regions, rising.
        cost: sum over users of share x time to the nearest of them.
    """

    sites: tuple[int, ...]
    cost: int


class Search:
    """Sets of regions for users at several places.

    Args:
        shares: of each place, in any unit; more than zero.
        times: of each region, to each place.
    """

    def __init__(self, shares: Sequence[int], times: Sequence[Sequence[int]]) -> None:
        self._shares = shares
        self._times = times
        self._limits = sorted({time for row in times for time in row})

    def best(self, count: int, limit: int | None) -> Reach | None:
        """Return the best set of ``count``: least cost, then lowest indexes.

        ``limit`` must hold for the percentile of users; None where no set keeps it.
        """
        costs = [[w * t for w, t in zip(self._shares, row, strict=True)] for row in self._times]
        found: tuple[int, tuple[int, ...]] | None = None
        near = _Near(self._shares, self._times, self._limits[-1] if limit is None else limit)
        for rest, sets in groupby(near.sets(count), key=lambda sites: sites[:-1]):
            held = [min(column) for column in zip(*(costs[site] for site in rest), strict=True)]
            for *_, last in sets:
                cost = sum(map(min, held, costs[last]) if rest else costs[last])
                if found is None or cost <= found[0]:
                    option = (cost, tuple(sorted((*rest, last))))
                    found = option if found is None else min(found, option)
        return found and Reach(found[1], found[0])

    def least_limit(self, count: int, *, above: int = -1) -> int:
        """Return the lowest limit that some set of ``count`` keeps; none up to ``above`` does."""
        limits = self._limits[bisect.bisect_right(self._limits, above) :]

        def kept(limit: int) -> bool:
            sets = _Near(self._shares, self._times, limit).sets(min(count, len(self._times)))
            return next(sets, None) is not None

        return limits[bisect.bisect_left(limits[:-1], True, key=kept)]

    def percentile(self, sites: Sequence[int]) -> int:
        """Return the time within which the percentile of users reach the nearest site."""
        return percentile(self._nearest(sites), self._shares)

    def share_within(self, sites: Sequence[int], limit: int) -> float:
        """Return the share of users that the nearest of the sites is within the limit of."""
        nearest = zip(self._nearest(sites), self._shares, strict=True)
        return sum(share for time, share in nearest if time <= limit) / sum(self._shares)

    def _nearest(self, sites: Sequence[int]) -> list[int]:
        return [min(times) for times in zip(*(self._times[site] for site in sites), strict=True)]


def percentile(times: Iterable[Time], shares: Sequence[int]) -> Time:
    """Return the least time that holds for the percentile of all shares; at least one is needed."""
    ranked = sorted(zip(times, shares, strict=True))
    within = accumulate(share for _, share in ranked)
    needed = sum(shares) * PERCENTILE
    return next(
        time for (time, _), reached in zip(ranked, within, strict=True) if reached * 100 >= needed
    )


class _Near:
    """Sets of regions that keep one limit.

    Users within it are bits of a whole number for each region, so that users of a set are one
    ``or``, and their shares a sum over its bytes. What a region adds to a set, it adds at most to
    any larger one: what the best of the others add to the set alone bounds what they add together,
    and a branch that cannot reach the percentile is cut.
    """

    def __init__(self, shares: Sequence[int], times: Sequence[Sequence[int]], limit: int) -> None:
        self._sums = [_sums(shares[at : at + 8]) for at in range(0, len(shares), 8)]
        self._users = [
            sum(1 << at for at, time in enumerate(row) if time <= limit) for row in times
        ]
        self._needed = -(-sum(shares) * PERCENTILE // 100)
        # Those that reach most come first: what is left then bounds more.
        self._order = sorted(range(len(times)), key=lambda site: -self._share(self._users[site]))

    def sets(self, count: int) -> Iterator[tuple[int, ...]]:
        """Yield all sets of so many; those with the same first sites follow each other."""
        return self._sets((), 0, 0, count)

    def _sets(
        self, chosen: tuple[int, ...], users: int, start: int, left: int
    ) -> Iterator[tuple[int, ...]]:
        rest = self._order[start:]
        reached = [self._share(users | self._users[site]) for site in rest]
        if left == 1:
            for site, share in zip(rest, reached, strict=True):
                if share >= self._needed:
                    yield (*chosen, site)
            return
        have = self._share(users)
        for at, site in enumerate(rest[: len(rest) - left + 1]):
            most = sum(heapq.nlargest(left - 1, reached[at + 1 :])) - (left - 1) * have
            if reached[at] + most >= self._needed:
                both = users | self._users[site]
                yield from self._sets((*chosen, site), both, start + at + 1, left - 1)

    def _share(self, users: int) -> int:
        parts = users.to_bytes(len(self._sums), "little")
        return sum(map(list.__getitem__, self._sums, parts))


def _sums(shares: Sequence[int]) -> list[int]:
    """Return the sum of those whose bits are set, for every value of a byte."""
    sums = [0]
    for share in shares:
        sums += [held + share for held in sums]
    return sums
