"""Look-ups in the prices: of what a plan needs, the row that holds for it."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

from msgspec import Struct

from warmfleet.catalog.lines import LinePrice
from warmfleet.resolve.price_facts import PriceFacts
from warmfleet.spec.network import Billing
from warmfleet.spec.prices import CardPrice, DiskPrice, PriceRow, ServerPrice, TrafficPrice
from warmfleet.spec.prices import LinePrice as BookLine

__all__ = ["Price", "PriceList"]

R = TypeVar("R", bound=PriceRow)


class Price(Struct, frozen=True):
    """Of one piece."""

    monthly: float
    """A month."""
    setup: float
    """Once."""
    row: str
    """Where it stands, and who says so."""


class PriceList:
    """Finds prices: where a region has rows of its own for a thing, only those; the cheapest."""

    def __init__(self, facts: PriceFacts) -> None:
        self._facts = facts

    def offered(self, region: str) -> Iterator[tuple[str, int | None, float]]:
        """Yield card, how many a server has (None: any), and the least rent a card and month."""
        book, months = self._facts.book, self._facts.book.months
        for name in dict.fromkeys(row.card for row in book.cards):
            rows = _holding(region, [row for row in book.cards if row.card == name])
            for row in sorted(rows, key=lambda row: row.rent)[:1]:
                yield name, None, row.rent / months
        for kind in dict.fromkeys(map(_kind, book.servers)):
            servers = _holding(region, [row for row in book.servers if _kind(row) == kind])
            for server in sorted(servers, key=lambda row: row.rent)[:1]:
                yield *kind, server.rent / (kind[1] or 1) / months

    def card(self, region: str, gpu: str) -> Price | None:
        """Return the price of a card with its share of a server."""
        rows = [row for row in self._facts.book.cards if row.card == gpu]
        return self._cheapest(_holding(region, rows))

    def server(
        self, region: str, gpu: str, cards: int, *, cores: int, memory: int, disks: Sequence[int]
    ) -> tuple[Price, list[int]] | None:
        """Return the price of a server that has enough, and the disks that come on top.

        The cheapest together with them, so that a larger disk is never the cheaper choice.

        Args:
            region: Where it is.
            gpu: The id of its cards.
            cards: How many it has.
            cores: It has at least; what a row leaves out is enough.
            memory: It has at least, in bytes.
            disks: Sizes that are needed, in bytes.
        """
        rows = [row for row in self._facts.book.servers if _kind(row) == (gpu, cards)]
        enough = [
            row
            for row in _holding(region, rows)
            if (row.cpu or cores) >= cores and (row.ram is None or row.ram.bytes >= memory)
        ]

        def together(row: ServerPrice) -> tuple[int, float]:
            prices = [self.disk(region, size) for size in _beside(row, disks)]
            known = sum(price.monthly for price in prices if price)
            return prices.count(None), row.rent / self._facts.book.months + known

        best = min(enough, key=together, default=None)
        return (
            None
            if best is None
            else (self._price(best, best.rent, best.setup), _beside(best, disks))
        )

    def disk(self, region: str, size_bytes: int) -> Price | None:
        """Return the price of a disk of at least this size."""
        rows = _holding(region, self._facts.book.disks)
        return self._cheapest([row for row in rows if row.size.bytes >= size_bytes])

    def lines(self) -> list[LinePrice] | None:
        """Return the prices of lines and traffic a month; None: the catalog's examples hold."""
        book = self._facts.book
        if book.example and self._facts.path is None:
            return None
        rates = [
            self._line(
                row, (row.billing,) if row.billing else ("fixed", "p95"), row.mbps / book.months
            )
            for row in book.lines
        ]
        return rates + [self._line(row, ("traffic",), row.gb) for row in book.traffic]

    def line_setup(self, region: str, lines: Sequence[str], billing: Billing) -> float:
        """Return what the lines of a site cost once, where that is known.

        Where a Mbps is billed it is that of the row whose price holds.
        """
        return sum(self._setup(region, line, billing) for line in lines)

    def _setup(self, region: str, line: str, billing: Billing) -> float:
        rows = [
            row
            for row in self._facts.book.lines
            if row.line == line and (billing == "traffic" or row.billing in {None, billing})
        ]
        found = _holding(region, rows)
        if billing == "traffic":
            return min((row.setup for row in found), default=0)
        best = min(found, key=lambda row: row.mbps, default=None)
        return best.setup if best else 0

    def _line(
        self, row: BookLine | TrafficPrice, billing: tuple[Billing, ...], each: float
    ) -> LinePrice:
        by_size = isinstance(row, BookLine)
        return LinePrice(
            line=row.line,
            billing=billing,
            regions=() if row.region is None else (row.region,),
            mbps=((float("inf"), each),) if by_size else (),
            gb=None if by_size else each,
            currency=self._facts.book.currency,
            example=self._facts.book.example,
            source=self._named(row),
        )

    def _cheapest(self, rows: Sequence[CardPrice | ServerPrice | DiskPrice]) -> Price | None:
        row = min(rows, key=lambda row: row.rent, default=None)
        return None if row is None else self._price(row, row.rent, row.setup)

    def _price(self, row: PriceRow, rent: float, setup: float) -> Price:
        return Price(rent / self._facts.book.months, setup, self._named(row))

    def _named(self, row: PriceRow) -> str:
        digest = f" (sha256 {self._facts.sha256[:12]})" if self._facts.sha256 else ""
        said = f": {row.source}" if row.source else ""
        return f"{self._facts.named}{digest}{said}"


def _kind(row: ServerPrice) -> tuple[str, int | None]:
    return row.gpu.name, row.gpu.count


def _beside(row: ServerPrice, needed: Sequence[int]) -> list[int]:
    """Return the disks that the server's own are too few or too small for."""
    left = sorted(size.bytes for size in row.nvme)
    beside = []
    for size in sorted(needed, reverse=True):
        held = next((own for own in left if own >= size), None)
        if held is None:
            beside.append(size)
        else:
            left.remove(held)
    return beside


def _holding(region: str, rows: Sequence[R]) -> list[R]:
    here = [row for row in rows if row.region == region]
    return here or [row for row in rows if row.region is None]
