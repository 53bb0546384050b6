import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from warmfleet.catalog import load
from warmfleet.catalog.gpu import gpus
from warmfleet.catalog.llm import llms
from warmfleet.catalog.models import Catalog, Line, Model, Rates, Weights

DATA = Path(load.__file__).parent / "data"


def _rows() -> list[Any]:
    rows = []
    for path in sorted(DATA.glob("*.[jy]*")):
        for table, value in load._parse(path.name, path.read_bytes()).items():
            if not isinstance(value, list | dict):
                continue  # what holds for a whole file, such as the currency of the prices
            entries = value if isinstance(value, list) else [value]
            rows += [
                pytest.param(entry, id=f"{table}-{entry.get('id', index)}")
                for index, entry in enumerate(entries)
            ]
    return rows


@pytest.mark.parametrize("row", _rows())
def test_every_row_names_its_source(row: dict[str, Any]) -> None:
    assert len(row["source"].strip()) >= len("GeoNames")


def test_a_row_without_a_source_is_refused() -> None:
    row = load.load_catalog().models[0].model_dump()

    with pytest.raises(ValidationError, match="source"):
        Model.model_validate(row | {"source": " "})


def test_ids_are_unique() -> None:
    catalog = load.load_catalog()

    for table in (llms(), gpus(), catalog.regions, catalog.places, catalog.carriers, catalog.lines):
        names = [row.id for row in table]
        assert len(names) == len(set(names))


def test_the_version_is_that_of_the_bytes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    version = load.load_catalog().version
    assert re.fullmatch(rf"{re.escape(load.EDITION)}\+[0-9a-f]{{12}}", version)

    (tmp_path / "data").mkdir()
    for path in DATA.glob("*.[jy]*"):
        (tmp_path / "data" / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(load.resources, "files", lambda _: tmp_path)
    assert load.load_catalog.__wrapped__().version == version

    with (tmp_path / "data" / "network.yaml").open("a") as file:
        file.write("# a comment is a change too: the bytes are what was reviewed\n")
    assert load.load_catalog.__wrapped__().version != version


def test_the_bytes_of_the_weights_fit_the_shape() -> None:
    catalog = load.load_catalog()
    shape, weights = catalog.models[0].architecture, catalog.weights[0]

    # Q4_1 packs 32 values in 20 bytes; some tensors stay larger.
    assert shape.parameters * 20 / 32 <= weights.size_bytes <= shape.parameters * 1.1
    attention = 2 * shape.hidden * shape.head_dim * (shape.heads + shape.kv_heads)
    feed_forward = 3 * shape.hidden * shape.intermediate
    norms = 2 * shape.hidden
    layers = shape.layers * (attention + feed_forward + norms)
    assert shape.parameters == layers + shape.vocabulary * shape.hidden + shape.hidden


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"weights": [("model", "no/such")]}, "no/such"),
        ({"lines": [("carriers", ("no-carrier",))]}, "no-carrier"),
    ],
)
def test_dangling_references_are_refused(change: dict[str, Any], said: str) -> None:
    values = load.load_catalog().model_dump()
    for table, changes in change.items():
        for name, value in changes:
            values[table][0][name] = value

    with pytest.raises(ValidationError, match=said):
        Catalog.model_validate(values)


def test_steps_must_rise_and_rates_must_not_fall() -> None:
    catalog = load.load_catalog()
    line, rates = catalog.lines[0], catalog.rates[0]

    with pytest.raises(ValidationError, match="must rise"):
        Line.model_validate(line.model_dump() | {"steps": ["2 Mbps", "1 Mbps"]})
    with pytest.raises(ValidationError, match="no fall"):
        Rates.model_validate(rates.model_dump() | {"decode_tokens_per_s": {1: 40, 2: 30}})
    with pytest.raises(ValidationError, match="entry for 1"):
        Rates.model_validate(rates.model_dump() | {"decode_tokens_per_s": {2: 30}})


def test_hashes_are_sha256() -> None:
    row = load.load_catalog().weights[0].model_dump()

    with pytest.raises(ValidationError, match="sha256"):
        Weights.model_validate(row | {"sha256": "md5"})


def test_places_are_all_provinces_and_many_countries() -> None:
    places = load.load_catalog().places

    assert sum(place.mainland for place in places) == 31
    assert {"CN-HK", "CN-MO", "CN-TW"} <= {row.id for row in places if not row.mainland}
    assert len(places) > 100
    # The census of 2020: the sum is that of its communique.
    census = sum(place.population_millions for place in places if place.mainland)
    assert census == pytest.approx(1409.778724, abs=0.02)


def test_users_are_no_more_than_people() -> None:
    for place in load.load_catalog().places:
        assert (place.internet_users_millions or 0) <= place.population_millions


def test_a_region_needs_a_filing_where_it_is_in_the_mainland() -> None:
    for region in load.load_catalog().regions:
        assert region.mainland == (region.country == "CN")
        assert region.mainland == region.area.endswith("-china")


def test_all_carriers_of_the_mainland_have_their_share() -> None:
    shares = sum(row.fixed_share_pct for row in load.load_catalog().carriers)
    assert shares == pytest.approx(100, abs=0.2)
