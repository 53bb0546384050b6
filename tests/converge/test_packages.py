"""Credentials of the package index stay with pip."""

import logging
from pathlib import Path

import pytest

from tests.e2e.secret_scan import Secrets
from warmfleet.converge.packages import download
from warmfleet.errors import ConvergeError

PASSWORD = "registry-Canary+password/1"


@pytest.mark.parametrize(
    ("variable", "place", "quoted"),
    [
        ("PIP_INDEX_URL", "user:{}@", True),
        ("PIP_EXTRA_INDEX_URL", "{}@", True),
        ("PIP_INDEX_URL", "user:{}@", False),  # pip takes it for a port, and says which
    ],
)
def test_a_password_of_the_index_is_in_no_message_and_no_log(
    variable: str,
    place: str,
    quoted: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    password = PASSWORD.replace("/", "%2F") if quoted else PASSWORD
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv(variable, f"http://{place.format(password)}127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    steps: list[str] = []

    with caplog.at_level(logging.DEBUG), pytest.raises(ConvergeError) as caught:
        download(["no-such-package-of-warmfleet==1"], tmp_path, steps.append)

    said = "\n".join([str(caught.value), caplog.text, *steps])
    assert "127.0.0.1:9" in caplog.text or not quoted, "pip named no index: nothing was shown"
    parts = {"whole": PASSWORD.encode(), "half": PASSWORD.partition("/")[0].encode()}
    assert Secrets(parts).found_in(said.encode()) == set()
