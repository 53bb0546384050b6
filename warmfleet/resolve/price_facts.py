"""What things cost: a price book, rents in the spec, or else the example of the catalog."""

import json
from collections.abc import Collection
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from inference_app.problems import nearest
from warmfleet.catalog.gpu import find_gpu
from warmfleet.catalog.load import read_rows
from warmfleet.catalog.models import Catalog
from warmfleet.errors import NameUnknownError, SpecError
from warmfleet.spec.cards import Cards
from warmfleet.spec.document import Document, read_document
from warmfleet.spec.load import located, parse_document
from warmfleet.spec.placement import BaremetalPlacement
from warmfleet.spec.prices import (
    NO_CURRENCY,
    CardPrice,
    LinePrice,
    PriceBook,
    PriceRow,
    ServerPrice,
    TrafficPrice,
)

__all__ = ["PriceFacts", "resolve_prices"]

_AT = "placement.prices"


class PriceFacts(BaseModel):
    """Prices, with cards under their ids in the catalog."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    path: str | None = Field(default=None, description="of the user's price book")
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$", description="of that file")
    book: PriceBook

    @property
    def named(self) -> str:
        """What a person calls them."""
        if self.book.example:
            return f"example prices, {self.path}" if self.path else "example prices of the catalog"
        return self.path or _AT


def resolve_prices(
    placement: BaremetalPlacement, catalog: Catalog, *, root: Path, known: PriceFacts | None
) -> PriceFacts:
    """Return the prices that hold for a placement.

    Args:
        placement: Names a price book, has rents, or neither; then the catalog's example stands in,
            which is never mixed with prices of the user's own.
        catalog: What regions and lines there are.
        root: Where a relative path starts.
        known: Prices of the lock: they hold where the book itself is not there, since not
            everybody who plans again may see it.

    Raises:
        SpecError: the book cannot be read or is not valid; a line for each problem, with its place
            in the book.
    """
    named = placement.prices
    if isinstance(named, dict):
        return _rents(named) if named else _example()
    path = root / named
    if known is not None and known.path == named and not path.exists():
        return known
    try:
        document = read_document(path)
        book = parse_document(document, PriceBook, "price book")
        book = _checked(book, catalog, document)
    except SpecError as error:
        msg = "\n".join(f"{_AT}: {line}" for line in str(error).splitlines())
        raise SpecError(msg) from error
    return PriceFacts(path=named, sha256=document.sha256, book=book)


def _rents(rents: dict[str, float]) -> PriceFacts:
    """Of two names of a card the first counts."""
    cards: dict[str, CardPrice] = {}
    for name, rent in rents.items():
        try:
            gpu = find_gpu(name)
        except NameUnknownError as error:
            msg = f"{_AT}.{name}: {error}"
            raise SpecError(msg) from error
        cards.setdefault(gpu.id, CardPrice(card=gpu.id, rent=float(rent)))
    return PriceFacts(book=PriceBook(currency=NO_CURRENCY, cards=tuple(cards.values())))


def _example() -> PriceFacts:
    # As JSON: strict checking takes lists for tuples only there.
    return PriceFacts(book=PriceBook.model_validate_json(json.dumps(read_rows("prices.yaml"))))


def _checked(book: PriceBook, catalog: Catalog, document: Document) -> PriceBook:
    """Return the book with the catalog's names.

    Raises:
        SpecError: what the catalog does not know, each with its line.
    """
    wrong: list[str] = []

    def known(at: str, found: str | None, names: Collection[str]) -> None:
        if found is not None and found not in names:
            hint = nearest(found, names) or f"; known: {', '.join(names)}"
            wrong.append(f"{at}: found {found!r}, which the catalog does not know{hint}")

    def card(at: str, name: str) -> str:
        try:
            return find_gpu(name).id
        except NameUnknownError as error:
            wrong.append(f"{at}: {error}")
            return name

    regions = [region.id for region in catalog.regions]
    lines = [line.id for line in catalog.lines]
    updates: dict[str, tuple[PriceRow, ...]] = {}
    for table in ("cards", "servers", "disks", "lines", "traffic"):
        rows: list[PriceRow] = []
        for index, row in enumerate(getattr(book, table)):
            at = f"{table}[{index}]"
            known(f"{at}.region", row.region, regions)
            named: dict[str, str | Cards] = {}
            if isinstance(row, CardPrice):
                named["card"] = card(f"{at}.card", row.card)
            elif isinstance(row, ServerPrice):
                named["gpu"] = Cards(card(f"{at}.gpu", row.gpu.name), row.gpu.count)
            elif isinstance(row, LinePrice | TrafficPrice):
                known(f"{at}.line", row.line, lines)
            rows.append(row.model_copy(update=named))
        updates[table] = tuple(rows)
    if wrong:
        raise SpecError(located(document, "\n".join(wrong)))
    return book.model_copy(update=updates)
