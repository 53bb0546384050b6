import json
from pathlib import Path

import pytest

SPEC = Path(__file__).parents[1] / "plan" / "fleets" / "chat-7b.yaml"


@pytest.mark.parametrize(
    ("options", "headings"),
    [
        ([], ["# Request for quotation: chat-7b", "# 询价单"]),
        (["--lang", "en"], ["# Request for quotation: chat-7b"]),
        (["--lang", "zh"], ["# 询价单"]),
    ],
)
def test_pages_in_the_languages_that_are_asked_for(options, headings, run) -> None:
    result = run("quote", str(SPEC), *options)

    assert (result.exit_code, result.stderr) == (0, "")
    found = [line for line in result.stdout.splitlines() if line.startswith("# ")]
    assert len(found) == len(headings)
    assert all(map(str.startswith, found, headings))
    assert ("price on enquiry" in result.stdout) == (options != ["--lang", "zh"])
    assert ("价格面议" in result.stdout) == (options != ["--lang", "en"])


def test_to_a_file(run, tmp_path: Path) -> None:
    path = tmp_path / "quote.md"

    result = run("quote", str(SPEC), "--output", str(path))

    assert (result.exit_code, result.stdout, result.stderr) == (0, "", f"wrote {path}\n")
    assert path.read_text() == run("quote", str(SPEC)).stdout


def test_machines_get_the_numbers(run) -> None:
    request = json.loads(run("quote", str(SPEC), "--json").stdout)

    assert request["sites"][0]["servers"][0]["card"] == "GeForce RTX 4090"


def test_a_folder_that_is_not_there_is_one_line(run, tmp_path: Path) -> None:
    path = tmp_path / "none" / "quote.md"

    result = run("quote", str(SPEC), "--output", str(path))

    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert "No such file or directory; needed a file" in result.stderr


def test_the_lab_is_not_rented(run, project) -> None:  # noqa: ARG001
    result = run("quote", "test")

    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert "found placement.kind lab; needed baremetal" in result.stderr
