"""The fewest regions that bring users near enough, and of those the nearest: exact, by bounds.

Shares and times are whole numbers, so that sums do not depend on their order and equal sets are
equal: what is chosen is what trying every set would choose.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeVar

__all__ = ["PERCENTILE", "Reach", "Search", "percentile"]

PERCENTILE = 95
"""Of users, by their shares: a few far ones should not decide for all."""

Time = TypeVar("Time", int, float)


@dataclass(frozen=True)
class Reach:
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
        self._costs = [[w * t for w, t in zip(shares, row, strict=True)] for row in times]
        self._may_miss = sum(shares) * (100 - PERCENTILE)

    def best(self, count: int, limit: int | None) -> Reach | None:
        """Return the best set of ``count``: least cost, then lowest indexes.

        ``limit`` must hold for the percentile of users; None where no set keeps it.
        """
        if count > len(self._times):
            return None
        return _Descent(self._costs, self._missed(limit), self._may_miss).run(count)

    def percentile(self, sites: Sequence[int]) -> int:
        """Return the time within which the percentile of users reach the nearest site."""
        return percentile(self._nearest(sites), self._shares)

    def share_within(self, sites: Sequence[int], limit: int) -> float:
        """Return the share of users that the nearest of the sites is within the limit of."""
        nearest = zip(self._nearest(sites), self._shares, strict=True)
        return sum(share for time, share in nearest if time <= limit) / sum(self._shares)

    def _nearest(self, sites: Sequence[int]) -> list[int]:
        return [min(times) for times in zip(*(self._times[site] for site in sites), strict=True)]

    def least_limit(self, count: int) -> int:
        """Return the lowest limit that some set of ``count`` keeps."""
        limits = sorted({time for row in self._times for time in row})
        low, high = 0, len(limits) - 1
        while low < high:
            middle = (low + high) // 2
            missed = self._missed(limits[middle])
            if _Descent(missed, missed, self._may_miss, any_will_do=True).run(count):
                high = middle
            else:
                low = middle + 1
        return limits[low]

    def _missed(self, limit: int | None) -> list[list[int]]:
        """Return the shares x 100 that each region leaves beyond the limit."""
        if limit is None:
            return [[0] for _ in self._times]
        return [
            [
                share * 100 if time > limit else 0
                for share, time in zip(self._shares, row, strict=True)
            ]
            for row in self._times
        ]


def percentile(times: Iterable[Time], shares: Sequence[int]) -> Time:
    """Return the least time that holds for the percentile of all shares; at least one is needed."""
    ranked = sorted(zip(times, shares, strict=True))
    within = accumulate(share for _, share in ranked)
    needed = sum(shares) * PERCENTILE
    return next(
        time for (time, _), reached in zip(ranked, within, strict=True) if reached * 100 >= needed
    )


class _Descent:
    """One branch and bound.

    What a region adds to a set, it adds at most to any larger one, both in cost saved and in users
    brought within the limit. So what the best of the others add to the set alone bounds what they
    add together, and a branch that cannot keep the limit or become cheaper is cut.
    """

    def __init__(
        self,
        costs: Sequence[Sequence[int]],
        missed: Sequence[Sequence[int]],
        may_miss: int,
        *,
        any_will_do: bool = False,
    ) -> None:
        # The cheapest alone come first: a good set is found early, and more is cut.
        self._order = sorted(range(len(costs)), key=lambda site: (sum(costs[site]), site))
        self._costs = [costs[site] for site in self._order]
        self._missed = [missed[site] for site in self._order]
        self._may_miss = may_miss
        self._any_will_do = any_will_do
        self._found: Reach | None = None

    def run(self, count: int) -> Reach | None:
        """Return the best set of so many."""
        self._descend((), 0, count, None, None)
        return self._found

    def _descend(
        self,
        chosen: tuple[int, ...],
        start: int,
        left: int,
        costs: Sequence[int] | None,
        missed: Sequence[int] | None,
    ) -> None:
        if self._any_will_do and self._found:
            return
        rest = range(start, len(self._order))
        misses = [_joined(missed, self._missed[site]) for site in rest]
        totals = [_joined(costs, self._costs[site]) for site in rest]
        if left == 1:
            for site, miss, total in zip(rest, misses, totals, strict=True):
                if miss <= self._may_miss:
                    self._take((*chosen, site), total)
            return
        for site in self._worth(rest, left, misses, totals, costs, missed):
            self._descend(
                (*chosen, site),
                site + 1,
                left - 1,
                _merged(costs, self._costs[site]),
                _merged(missed, self._missed[site]),
            )

    def _worth(
        self,
        rest: range,
        left: int,
        misses: Sequence[int],
        totals: Sequence[int],
        costs: Sequence[int] | None,
        missed: Sequence[int] | None,
    ) -> Iterator[int]:
        """Yield the regions with which a branch may still become the best."""
        for at, site in enumerate(rest[: len(rest) - left + 1]):
            others = range(at + 1, len(rest))
            if costs is None or missed is None:
                # Nothing is chosen yet, so nothing is saved by the others: they are bounded below.
                yield site
                continue
            before, beyond = sum(costs), sum(missed)
            reached = heapq.nlargest(left - 1, (beyond - misses[other] for other in others))
            if misses[at] - sum(reached) > self._may_miss:
                continue
            saved = heapq.nlargest(left - 1, (before - totals[other] for other in others))
            if self._found is None or totals[at] - sum(saved) <= self._found.cost:
                yield site

    def _take(self, chosen: tuple[int, ...], cost: int) -> None:
        found = Reach(tuple(sorted(self._order[site] for site in chosen)), cost)
        if self._found is None or (found.cost, found.sites) < (
            self._found.cost,
            self._found.sites,
        ):
            self._found = found


def _joined(held: Sequence[int] | None, more: Sequence[int]) -> int:
    return sum(more) if held is None else sum(map(min, held, more))


def _merged(held: Sequence[int] | None, more: Sequence[int]) -> Sequence[int]:
    return more if held is None else list(map(min, held, more))
