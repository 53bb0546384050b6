"""A price book is read strictly, every problem with its place; else the lock, or an example."""

import hashlib
from pathlib import Path

import pytest
import yaml

from warmfleet.catalog.load import load_catalog
from warmfleet.errors import SpecError
from warmfleet.resolve.price_facts import PriceFacts, resolve_prices
from warmfleet.spec.placement import BaremetalPlacement

CASES = yaml.safe_load(Path(__file__).with_name("cases").joinpath("price_books.yaml").read_text())
PLACEMENT = BaremetalPlacement(kind="baremetal", prices="prices.yaml")


def resolved(root: Path, placement=PLACEMENT, known: PriceFacts | None = None) -> PriceFacts:
    return resolve_prices(placement, load_catalog(), root=root, known=known)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_price_book(case, tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(case["book"])

    if "errors" in case:
        with pytest.raises(SpecError) as caught:
            resolved(tmp_path)
        begun = f"placement.prices: {path}:"
        found = [line.removeprefix(begun).lstrip() for line in str(caught.value).splitlines()]
        assert case["errors"] == found
        assert all(line.startswith(begun) for line in str(caught.value).splitlines())
    else:
        book = resolved(tmp_path).book
        assert case["expect"] == {
            "currency": book.currency,
            "months": book.months,
            "cards": [row.card for row in book.cards],
            "servers": [str(row.gpu) for row in book.servers],
        }


def test_facts_name_the_file_and_its_digest_and_survive_a_lock(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("{currency: CNY, valid_until: 2027-03-31, lines: [{line: bgp, mbps: 95}]}")

    facts = resolved(tmp_path)

    assert ("prices.yaml", hashlib.sha256(path.read_bytes()).hexdigest()) == (
        facts.path,
        facts.sha256,
    )
    assert PriceFacts.model_validate(facts.model_dump(mode="json")) == facts


def test_the_lock_has_the_prices_where_the_book_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("{currency: CNY, lines: [{line: bgp, mbps: 95}]}")
    locked = resolved(tmp_path)
    path.write_text("{currency: CNY, lines: [{line: bgp, mbps: 96}]}")
    assert resolved(tmp_path, known=locked).book.lines[0].mbps == 96

    path.unlink()

    assert resolved(tmp_path, known=locked) == locked
    other = BaremetalPlacement(kind="baremetal", prices="other.yaml")
    with pytest.raises(SpecError, match=r"placement\.prices: .*other\.yaml: No such file"):
        resolved(tmp_path, other, known=locked)


def test_without_prices_the_examples_stand_in_each_with_its_source(tmp_path: Path) -> None:
    facts = resolved(tmp_path, BaremetalPlacement(kind="baremetal"))

    assert facts.book.example
    assert "example" in facts.named
    book = facts.book
    for row in (*book.cards, *book.servers, *book.disks, *book.lines, *book.traffic):
        assert row.source


def test_rents_in_the_spec_have_no_currency_and_the_first_of_two_names_counts(
    tmp_path: Path,
) -> None:
    prices = {"RTX 4090": 900, "GeForce RTX 4090": 700, "T4": 500}

    book = resolved(tmp_path, BaremetalPlacement(kind="baremetal", prices=prices)).book

    assert [(row.card, row.rent) for row in book.cards] == [("rtx4090", 900), ("t4", 500)]
    assert (book.currency, book.example) == ("XXX", False)
