"""A server of weights, and no trace of the tester's own accounts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.resolve.weights_server import WeightsServer
from warmfleet.resolve import http_store

OWN = (
    "HF_HUB_OFFLINE HF_TOKEN HF_TOKEN_PATH HF_ENDPOINT AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY "
    "AWS_ENDPOINT_URL HTTP_PROXY http_proxy ALL_PROXY all_proxy"
)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[WeightsServer]:
    for name in OWN.split():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "no-account"))
    monkeypatch.setattr(http_store, "_RETRY_S", 0)
    server = WeightsServer()
    yield server
    server.stop()
