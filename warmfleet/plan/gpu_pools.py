"""The servers that a placement offers: those that are leased, or what may be rented."""

from msgspec import Struct

from warmfleet.catalog.gpu import Gpu, find_gpu, gpus
from warmfleet.errors import NameUnknownError, SpecError
from warmfleet.plan.price_list import PriceList
from warmfleet.sizing.offers import COUNTS
from warmfleet.spec.cards import Cards
from warmfleet.spec.placement import BaremetalPlacement

__all__ = ["Pool", "pools_of", "rentable"]

_NOT_A_SLOT = {"module"}
"""Forms that come with a CPU of another architecture: hosts are x86-64."""


class Pool(Struct, frozen=True):
    """Servers with the same cards."""

    gpu: Gpu
    counts: tuple[int, ...]
    """Cards that one replica may take."""
    cards: int | None = None
    """Of each server; None: as many as a replica takes."""
    servers: tuple[str, ...] = ()
    """Names of leased servers; none: any number can be rented."""
    rent: float | None = None
    """Of one card, as the spec's prices have it."""

    @property
    def leased(self) -> bool:
        """Are there only so many?"""
        return bool(self.servers)

    def __str__(self) -> str:
        """Return what a person calls it."""
        cards = self.gpu.name if self.cards is None else f"{self.cards} x {self.gpu.name}"
        return f"{len(self.servers)} servers with {cards}" if len(self.servers) > 1 else cards


def pools_of(placement: BaremetalPlacement, prices: PriceList, region: str) -> tuple[Pool, ...]:
    """Return the pools of a placement: leased, asked for, on offer in that region, or any.

    Raises:
        SpecError: a card that the catalog does not know; the nearest one is named.
    """
    if placement.servers:
        return _leased(placement)
    if placement.gpu is not None:
        gpu = _card("placement.gpu", placement.gpu)
        return (Pool(gpu, _counts(placement.gpu.count), placement.gpu.count),)
    return _offered(prices, region) or tuple(Pool(gpu, COUNTS) for gpu in rentable())


def rentable() -> tuple[Gpu, ...]:
    """Return the cards that are offered when none is asked for.

    Others are used where the spec names them; hosts get the driver and the wheels of NVIDIA's
    cards on x86-64.
    """
    return tuple(gpu for gpu in gpus() if gpu.vendor == "NVIDIA" and gpu.form not in _NOT_A_SLOT)


def _offered(prices: PriceList, region: str) -> tuple[Pool, ...]:
    rows = {gpu.id: gpu for gpu in gpus()}
    return tuple(
        Pool(rows[name], _counts(count), count, rent=rent)
        for name, count, rent in prices.offered(region)
    )


def _leased(placement: BaremetalPlacement) -> tuple[Pool, ...]:
    named: dict[tuple[str, int], list[str]] = {}
    found: dict[str, Gpu] = {}
    for index, server in enumerate(placement.servers):
        cards = server.contract.gpu
        if cards.name not in found:
            found[cards.name] = _card(f"placement.servers[{index}].contract.gpu", cards)
        named.setdefault((found[cards.name].id, cards.count or 1), []).append(server.name)
    rows = {gpu.id: gpu for gpu in found.values()}
    return tuple(
        Pool(rows[gpu], _counts(count), count, tuple(servers))
        for (gpu, count), servers in named.items()
    )


def _card(at: str, cards: Cards) -> Gpu:
    try:
        return find_gpu(cards.name)
    except NameUnknownError as error:
        msg = f"{at}: {error}"
        raise SpecError(msg) from error


def _counts(cards: int | None) -> tuple[int, ...]:
    return COUNTS if cards is None else tuple(count for count in COUNTS if count <= cards)
