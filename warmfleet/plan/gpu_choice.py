"""Precision and cards of one model: the first that serve it, and by how much the others do not."""

import math
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from warmfleet.catalog.gpu import Gpu
from warmfleet.errors import PlanRefusedError
from warmfleet.plan.gpu_pools import Pool, rentable
from warmfleet.plan.gpu_redundancy import offer_for, redundancy_of
from warmfleet.plan.gpu_wanted import Wanted
from warmfleet.sizing.offer import Offer, Refused
from warmfleet.sizing.offers import offers
from warmfleet.sizing.precision import Precision
from warmfleet.sizing.quality import PrecisionChoice, choose_precision, weight_bits

__all__ = ["Chosen", "RefusedLayout", "choose_cards"]

_LEAST_PLACES = 8
"""Of any engine: fewer would make a handful of requests wait for each other."""

_NO_CONSENT_BITS = 8


class RefusedLayout(Struct, frozen=True):
    """Cards that do not serve the model in one precision."""

    precision: str
    refused: Refused


class Chosen(Struct, frozen=True):
    """What serves a model."""

    wanted: Wanted
    choice: PrecisionChoice
    pool: Pool
    offer: Offer
    refused: tuple[RefusedLayout, ...]

    @property
    def precision(self) -> Precision:
        """Of the weights."""
        return self.choice.precision

    @property
    def shared_places(self) -> int:
        """Requests at a time of an engine that shares its cards: twice those of the busiest second.

        With no more than those a request would often wait for a place.
        """
        return min(self.offer.streams, max(_LEAST_PLACES, 2 * self.offer.fit.concurrency))

    @property
    def kv_bytes(self) -> int:
        """Cache that such an engine must have: for its places, or one request of full length."""
        held = self.offer.fit
        return max(held.kv * self.shared_places // held.concurrency, self.offer.full.kv)

    @property
    def used_bytes(self) -> int:
        """What an engine must have of each card, CUDA graphs excepted."""
        held = self.offer.fit
        return held.weights + held.activation + held.non_torch + self.kv_bytes


def choose_cards(
    wanted: Wanted, pools: Sequence[Pool], *, at: str, elsewhere: Sequence[Wanted] = ()
) -> Chosen:
    """Choose the highest of the precisions that the pools serve, and of their cards the best.

    Args:
        wanted: the model, at the site with the largest load.
        pools: servers on offer.
        elsewhere: the same model at other sites: they count in how much is rented.
        at: field that decided on the pools, for the refusal.

    Raises:
        PlanRefusedError: no cards serve the model, or only in a precision that its task needs a
            consent for; with what is missing and what would do.
    """
    weighed: dict[str, _Weighed] = {}

    def too_large(precision: Precision) -> str | None:
        found = weighed[precision.id] = _weigh(wanted, pools, precision, elsewhere)
        return None if found.best else found.nearest

    options = wanted.precisions
    try:
        choice = choose_precision(
            wanted.spec.task,
            options,
            too_large,
            published=wanted.published,
            parameters=wanted.facts.architecture.parameters,
            accept_quality_loss=wanted.spec.accept_quality_loss,
        )
    except PlanRefusedError as error:
        if any(found.best for found in weighed.values()):
            msg = f"{wanted.at}.{error}"
            raise PlanRefusedError(msg) from error
        raise PlanRefusedError(_refusal(wanted, pools, weighed, at)) from error
    best = weighed[choice.precision.id].best
    if best is None:  # choose_precision took what was not too large
        raise AssertionError(choice.precision.id)
    pool, offer = best
    refused = [row for found in weighed.values() for row in found.refused]
    return Chosen(wanted, choice, pool, offer, _nearest_first(refused))


class _Weighed(Struct, frozen=True):
    """What the pools do for the model in one precision."""

    best: tuple[Pool, Offer] | None
    refused: tuple[RefusedLayout, ...]

    @property
    def nearest(self) -> str:
        """Why the cards that miss least do not do."""
        row = self.refused[0].refused
        return f"{row.layout.count} x {row.layout.gpu.name}: {row.reason}"


def _weigh(
    wanted: Wanted,
    pools: Sequence[Pool],
    precision: Precision,
    elsewhere: Sequence[Wanted] = (),
) -> _Weighed:
    refused: list[RefusedLayout] = []
    found: list[tuple[Pool, Offer]] = []
    for alike, counts in _alike(pools, each=bool(elsewhere)):
        cards = {pool.gpu.id: pool for pool in alike}
        rents = {pool.gpu.id: pool.rent for pool in alike if pool.rent is not None}
        weighed = offers(
            wanted.asked(precision), [pool.gpu for pool in alike], counts=counts, rents=rents
        )
        refused += [RefusedLayout(precision.id, row) for row in weighed.refused]
        found += [(cards[offer.layout.gpu.id], offer) for offer in weighed.ranked]

    def whole_servers(pair: tuple[Pool, Offer]) -> tuple[float, ...]:
        pool, offer = pair
        everywhere = [offer, *(offer_for(other, offer) for other in elsewhere)]
        needed = [redundancy_of(one, pool, wanted.promise.availability) for one in everywhere]
        servers = sum(one.servers for one in needed)
        cards = pool.cards or offer.layout.count
        size = offer.layout.count * offer.layout.gpu.memory_gb
        return (
            not offer.comfortable,
            0 if offer.comfortable else -size,
            servers * cards * (pool.rent or 0.0),
            servers * cards * offer.layout.gpu.memory_gb,
            sum(one.replicas for one in needed) * offer.layout.count,
        )

    # Each list is ranked, and of equals the first is kept.
    return _Weighed(min(found, key=whole_servers, default=None), _nearest_first(refused))


def _alike(pools: Sequence[Pool], *, each: bool) -> Iterator[tuple[list[Pool], tuple[int, ...]]]:
    """Yield pools and the cards of a replica that can be weighed together.

    Where the cards of a server are given, every number of cards of a replica is weighed by itself:
    servers are rented whole. So it is with ``each``: what is best at one site may not be at all.
    """
    free = [pool for pool in pools if pool.cards is None]
    if free:
        for counts in [(count,) for count in free[0].counts] if each else [free[0].counts]:
            yield free, counts
    for counts in dict.fromkeys(pool.counts for pool in pools if pool.cards is not None):
        for count in counts:
            yield [pool for pool in pools if pool.cards and pool.counts == counts], (count,)


def _nearest_first(refused: list[RefusedLayout]) -> tuple[RefusedLayout, ...]:
    """Sort by what is missing; what no memory would help comes last, and each card once."""
    once = {
        row.refused.layout.gpu.id if not row.refused.missing_bytes else index: row
        for index, row in reversed(list(enumerate(refused)))
    }
    return tuple(
        sorted(
            once.values(),
            key=lambda row: (
                row.refused.missing_bytes == 0,
                row.refused.missing_bytes * row.refused.layout.count,
            ),
        )
    )


def _refusal(
    wanted: Wanted, pools: Sequence[Pool], weighed: Mapping[str, _Weighed], at: str
) -> str:
    names: dict[str, list[str]] = {}
    for name, found in weighed.items():
        names.setdefault(found.nearest, []).append(name)
    said = "; ".join(
        f"{' and '.join(alike)} {'does' if len(alike) == 1 else 'do'} not fit ({why})"
        for why, alike in names.items()
    )
    nearest = [*_more_of_them(wanted, pools), *_other_cards(wanted)]
    if not nearest:
        nearest = [*_weaker_promise(wanted, pools), "a smaller model"]
    return f"{at}: model {wanted.spec.name}: {said}; nearest: {', or '.join(nearest[:2])}"


def _more_of_them(wanted: Wanted, pools: Sequence[Pool]) -> Iterator[str]:
    """Yield the same cards in another number, in the highest precision that they serve so."""
    cards = list({pool.gpu.id: pool.gpu for pool in pools}.values())
    yield from _named(wanted, cards)


def _other_cards(wanted: Wanted) -> Iterator[str]:
    """Yield what of all cards serves the highest precision."""
    yield from _named(wanted, rentable())


def _named(wanted: Wanted, cards: Sequence[Gpu]) -> Iterator[str]:
    for precision in wanted.precisions:
        if ranked := offers(wanted.asked(precision), cards).ranked:
            layout = ranked[0].layout
            yield f"{layout.count} x {layout.gpu.name} in {precision.id}"
            return


def _weaker_promise(wanted: Wanted, pools: Sequence[Pool]) -> Iterator[str]:
    """Yield the shortest time to the first token that the cards do keep.

    In 8 bit or more where they hold that: less may need a consent.
    """
    weaker = replace(wanted, promise=replace(wanted.promise, ttft_p95_s=None))
    longest = max(demand.prompt_tokens for demand in wanted.demands)
    cards = list({pool.gpu.id: pool.gpu for pool in pools}.values())
    kept: list[tuple[bool, float, str]] = []
    for precision in wanted.precisions:
        for offer in offers(weaker.asked(precision), cards).ranked:
            alone = offer.roofline
            idle_s = alone.prefill_s(longest) + alone.decode_step_s(1, longest)
            idle_s += alone.efficiency.request_s
            how = f"{precision.id} on {offer.layout.count} x {offer.layout.gpu.name}"
            kept.append((weight_bits(precision) < _NO_CONSENT_BITS, idle_s, how))
    if kept:
        _, idle_s, how = min(kept)
        yield f"slo.ttft_p95 of {math.ceil(idle_s * 110) / 100:g} s, in {how}"
