"""Wrong specs, as data: every message in full, since it is all that a person sees."""

from pathlib import Path

import pytest
import yaml

from warmfleet.errors import SpecError
from warmfleet.spec.document import MAX_BYTES
from warmfleet.spec.load import load_spec

CASES = Path(__file__).parent / "cases"
WRONG = yaml.safe_load((CASES / "wrong.yaml").read_text())


def test_the_base_that_the_cases_change_is_right() -> None:
    assert load_spec(CASES / "base.yaml").name == "test"


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case["name"])
def test_wrong_spec(case: dict, tmp_path: Path) -> None:
    text = (CASES / "base.yaml").read_text()
    for old, new in case["replace"].items():
        assert old in text, "the case changes nothing"
        text = text.replace(old, new)
    path = tmp_path / "test.yaml"
    path.write_text(text)

    with pytest.raises(SpecError) as caught:
        load_spec(path)

    assert [f"{path}:{line}" for line in case["errors"]] == str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "found null; needed fields as NAME: VALUE"),
        (b"- 1\n", "found a list; needed fields as NAME: VALUE"),
        (b"\xff\xfe\x00", "not UTF-8 text (byte 0); needed a YAML file"),
        (b"a: 1\n---\nb: 2\n", "but found another document"),
        (b"#" * (MAX_BYTES + 1), "larger than 256 KiB"),
        (b"a: " + b"[" * 100 + b"]" * 100, "nested or repeated too deeply"),
        (b"a: &a [*a]\n", "nested or repeated too deeply"),
        (
            b"a: &a [x, x, x, x, x, x, x, x, x, x]\n"
            + b"".join(
                b"%c: &%c [%s]\n" % (name, name, b", ".join([b"*%c" % (name - 1)] * 10))
                for name in b"bcdefgh"
            ),
            "nested or repeated too deeply",
        ),
    ],
)
def test_what_is_no_spec_at_all_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "test.yaml"
    path.write_bytes(content)

    with pytest.raises(SpecError) as caught:
        load_spec(path)

    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"none\.yaml: No such file or directory"):
        load_spec(tmp_path / "none.yaml")
