"""Wrong specs, as data: every message in full, since it is all that a person sees."""

from pathlib import Path

import pytest
import yaml

from warmfleet.errors import SpecError
from warmfleet.spec.document import MAX_BYTES
from warmfleet.spec.load import load_spec

CASES = Path(__file__).parent / "cases"
DEEP = "nested or repeated too deeply; needed a plain spec"
WRONG = yaml.safe_load((CASES / "wrong.yaml").read_text())


def test_the_base_that_the_cases_change_is_right() -> None:
    assert load_spec(CASES / "base.yaml").name == "test"


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case["name"])
def test_wrong_spec(case: dict, tmp_path: Path) -> None:
    text = (CASES / "base.yaml").read_text()
    for old, new in case["replace"].items():
        assert old in text, "the case changes nothing"
        text = text.replace(old, new)
    for word, character in case.get("repeat", {}).items():
        text = text.replace(word, str(character) * 5000)
    path = tmp_path / "test.yaml"
    path.write_text(text)

    with pytest.raises(SpecError) as caught:
        load_spec(path)

    assert [f"{path}:{line}" for line in case["errors"]] == str(caught.value).splitlines()


NEEDED = "needed fields as NAME: VALUE"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", f": found null; {NEEDED}"),
        (b"# nothing yet\n", f": found null; {NEEDED}"),
        (b"- 1\n", f": found a list; {NEEDED}"),
        (b"[]\n", f": found an empty list; {NEEDED}"),
        (b"hello\n", f": found 'hello'; {NEEDED}"),
        (b"5\n", f": found 5; {NEEDED}"),
        (b'name = "x"\n', f": found 'name = \"x\"'; {NEEDED}"),
        (b"\xff\xfe\x00", ": not UTF-8 text (byte 0); needed a YAML file"),
        ("name: test\n".encode("utf-16"), ": not UTF-8 text (byte 0); needed a YAML file"),
        (b"name: t\xe9st\n", ": not UTF-8 text (byte 7); needed a YAML file"),
        (
            b"name: \x07\n",
            ": not YAML: unacceptable character #x0007: special characters are not allowed; "
            f"{NEEDED}",
        ),
        (b"a: 1\n---\nb: 2\n", f":2: not YAML: but found another document; {NEEDED}"),
        (
            b"%YAML 9.9\n---\na: 1\n",
            f":1: not YAML: found incompatible YAML document (version 1.* is required); {NEEDED}",
        ),
        (b"#" * (MAX_BYTES + 1), ": larger than 512 KiB; needed a spec, which is a page or two"),
        (
            b"[" * (MAX_BYTES - 1),
            ": nested too deeply; needed a spec, which has a few levels",
        ),
        (b"a: " + b"[" * 100 + b"]" * 100, f":1: {DEEP}"),
        (b"a: " + b"{a: " * 100 + b"}" * 100, f":1: {DEEP}"),
        (b"\n".join(b"k%x: 1" % number for number in range(51_000)), f":50000: {DEEP}"),
        (b"a: &a [*a]\n", f":1: {DEEP}"),
        (
            b"a: &a [x, x, x, x, x, x, x, x, x, x]\n"
            + b"".join(
                b"%c: &%c [%s]\n" % (name, name, b", ".join([b"*%c" % (name - 1)] * 10))
                for name in b"bcdefgh"
            ),
            f":1: {DEEP}",
        ),
        (
            b"a0: &a0 {x: 1}\n"
            + b"".join(
                b"a%d: &a%d {<<: [%s]}\n" % (n, n, b", ".join([b"*a%d" % (n - 1)] * 10))
                for n in range(1, 9)
            ),
            f":1: {DEEP}",
        ),
    ],
)
@pytest.mark.timeout(20)
def test_what_is_no_spec_at_all_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "test.yaml"
    path.write_bytes(content)

    with pytest.raises(SpecError) as caught:
        load_spec(path)

    assert str(caught.value) == f"{path}{said}"


def test_a_mark_for_the_byte_order_and_other_line_ends_are_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "test.yaml"
    text = (CASES / "base.yaml").read_text()
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())

    assert load_spec(path) == load_spec(CASES / "base.yaml")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"none\.yaml: No such file or directory"):
        load_spec(tmp_path / "none.yaml")
