"""Settings fail early and say everything in one line."""

from pathlib import Path

import pytest

from inference_app.errors import SettingsError
from inference_app.settings import ServiceSettings
from tests.inference_app.support import settings_document, write_settings


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


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ({"prompt_tokens": 500, "output_tokens": 20}, "tokens is 520; needed: at most 512"),
        ({"prompt_tokens": 10, "output_tokens": 65}, "output_tokens is 65; needed: at most 64"),
        (
            {"prompt_tokens": 10, "output_tokens": 1, "concurrency": 9},
            "concurrency is 9; needed: at most 4",
        ),
    ],
)
def test_a_shape_that_no_request_may_have_is_refused(
    tmp_path: Path, shape: dict[str, int], reason: str
) -> None:
    document = settings_document(tmp_path)
    document["warmup"]["shapes"].append(shape)
    with pytest.raises(SettingsError, match=reason):
        ServiceSettings.load(write_settings(tmp_path, document))


def test_a_window_that_cannot_fill_is_refused(tmp_path: Path) -> None:
    document = settings_document(tmp_path)
    document["warmup"] |= {"window": 5, "max_probes": 4}
    with pytest.raises(SettingsError, match="max_probes is 4; needed: at least window"):
        ServiceSettings.load(write_settings(tmp_path, document))
