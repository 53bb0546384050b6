"""Settings fail early and say everything in one line."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from inference_app.errors import SettingsError
from inference_app.settings import ServiceSettings
from tests.inference_app.support import settings_document, write_settings

WRONG = yaml.safe_load((Path(__file__).parent / "cases" / "wrong_settings.yaml").read_text())


def test_a_written_file_reads_back_equal(tmp_path: Path) -> None:
    document = settings_document(tmp_path)
    loaded = ServiceSettings.load(write_settings(tmp_path, document))
    assert loaded == ServiceSettings.model_validate(document)
    assert loaded.engine.slots == 2


def test_every_wrong_field_is_named_in_one_line(tmp_path: Path) -> None:
    document = settings_document(tmp_path)
    document["engine"]["slots"] = 0
    document["limits"]["max_in_fligth"] = 4
    with pytest.raises(SettingsError) as caught:
        ServiceSettings.load(write_settings(tmp_path, document))
    message = str(caught.value)
    assert "engine.slots" in message
    assert "limits.max_in_fligth" in message
    assert "\n" not in message


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.json: No such file"):
        ServiceSettings.load(tmp_path / "nowhere.json")


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case["name"])
def test_a_wrong_setting_is_told_in_full(case: dict[str, Any], tmp_path: Path) -> None:
    document = settings_document(tmp_path)
    for field, value in case["set"].items():
        *outer, last = [int(part) if part.isdigit() else part for part in field.split(".")]
        holder: Any = document
        for part in outer:
            holder = holder[part]
        if value == "REMOVED":
            del holder[last]
        else:
            holder[last] = value
    path = write_settings(tmp_path, document)
    with pytest.raises(SettingsError) as caught:
        ServiceSettings.load(path)
    assert str(caught.value) == f"settings {path}: {'; '.join(case['errors'])}"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not JSON: Expecting value (line 1, column 1)"),
        (b"{", "not JSON: Expecting property name enclosed in double quotes (line 1, column 2)"),
        (b"[]", "found an empty list"),
        (b'"text"', "found 'text'"),
        (b"null", "found null"),
        (b"\xff\xfe", "not UTF-8 text (byte 0)"),
        (
            b"\xef\xbb\xbf{}",
            "not JSON: Unexpected UTF-8 BOM (decode using utf-8-sig) (line 1, column 1)",
        ),
        (b'{"revision": "a", "revision": "b"}', "revision: is there twice; needed once"),
        (b'{"a": NaN}', "not JSON: found NaN; needed a finite number"),
        (b'{"a": -Infinity}', "not JSON: found -Infinity; needed a finite number"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' * 100_000, "nested too deeply"),
        (b"revision: yaml", "not JSON: Expecting value (line 1, column 1)"),
        (b'{"a": 1}\n{"a": 2}', "not JSON: Extra data (line 2, column 1)"),
        (b'{"a": ' + b"9" * 5000 + b"}", "found a number of more than 4300 digits"),
    ],
)
def test_what_is_no_settings_file_is_told_in_full(
    tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    with pytest.raises(SettingsError) as caught:
        ServiceSettings.load(path)
    assert str(caught.value) == f"settings {path}: {said}; needed one JSON object"


def test_a_number_that_no_float_holds_is_refused(tmp_path: Path) -> None:
    path = write_settings(tmp_path, settings_document(tmp_path))
    path.write_text(path.read_text().replace('"budget_s": 30.0', '"budget_s": 1e999'))
    with pytest.raises(SettingsError) as caught:
        ServiceSettings.load(path)
    said = "warmup.budget_s: found inf; needed a finite number"
    assert str(caught.value) == f"settings {path}: {said}"
