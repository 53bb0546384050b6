"""Times that a user measured: read strictly, each problem with its line; else the lock."""

import hashlib
from pathlib import Path

import pytest
import yaml

from warmfleet.catalog.load import load_catalog
from warmfleet.errors import SpecError
from warmfleet.resolve import csv_table
from warmfleet.resolve.probe_facts import ProbeFacts
from warmfleet.resolve.probes import resolve_probes

CASES = yaml.safe_load(Path(__file__).with_name("cases").joinpath("probes.yaml").read_text())
GOOD = "place,region,rtt_ms\nSG,tokyo,70\n"


def resolved(root: Path, *, known: ProbeFacts | None = None, refresh: bool = False) -> ProbeFacts:
    return resolve_probes("probes.csv", load_catalog(), root=root, known=known, refresh=refresh)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_probes(case, tmp_path: Path) -> None:
    (tmp_path / "probes.csv").write_text(case["csv"], encoding="utf-8", newline="")

    if "error" in case:
        with pytest.raises(SpecError) as caught:
            resolved(tmp_path)
        begun = "network.probes: probes.csv"
        assert str(caught.value).startswith(begun)
        assert str(caught.value).removeprefix(begun).lstrip(": ") == case["error"]
    else:
        paths = resolved(tmp_path).paths
        assert [[*row.model_dump().values()] for row in paths] == case["expect"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file or directory; needed a readable CSV file"),
        ("place,region,rtt_ms\nSG,東京,70\n".encode("shift-jis"), "needed CSV in UTF-8"),
        (GOOD.encode() + b"SG,tokyo,70\n" * 5, "more than 3 rows; needed one for each time that"),
        (GOOD.encode() * 50, "more than 0 MiB; needed one for each time that was measured"),
    ],
)
def test_a_file_that_is_none_is_refused_in_one_line(
    content: bytes | None, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_table, "_MOST_ROWS", 3)
    monkeypatch.setattr(csv_table, "_MOST_BYTES", 1000)
    if content is not None:
        (tmp_path / "probes.csv").write_bytes(content)

    with pytest.raises(SpecError) as caught:
        resolved(tmp_path)

    assert str(caught.value).startswith("network.probes: probes.csv: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_facts_name_the_file_and_its_digest_and_survive_a_lock(tmp_path: Path) -> None:
    (tmp_path / "probes.csv").write_text(GOOD)

    facts = resolved(tmp_path)

    digest = hashlib.sha256(GOOD.encode()).hexdigest()
    assert (facts.path, facts.sha256, facts.rows) == ("probes.csv", digest, 1)
    assert ProbeFacts.model_validate(facts.model_dump(mode="json")) == facts
    assert facts.times == {("SG", "tokyo", None): 70.0}


def test_the_lock_has_them_where_the_file_is_not_there_unless_it_is_to_be_read_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "probes.csv").write_text(GOOD)
    locked = resolved(tmp_path)
    (tmp_path / "probes.csv").write_text(GOOD.replace("70", "71"))
    assert resolved(tmp_path, known=locked).paths[0].rtt_ms == 71

    (tmp_path / "probes.csv").unlink()

    assert resolved(tmp_path, known=locked) == locked
    with pytest.raises(SpecError, match=r"^network\.probes: probes\.csv: No such file"):
        resolved(tmp_path, known=locked, refresh=True)
    with pytest.raises(SpecError, match=r"^network\.probes: probes\.csv: No such file"):
        resolved(tmp_path, known=locked.model_copy(update={"path": "other.csv"}))
