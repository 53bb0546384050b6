"""The OpenAPI document, and Schemathesis with it against a running replica."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.inference_app.support import ReplicaProcess, replica_process, settings_document

_CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
)


@pytest.fixture(scope="module")
def replica(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplicaProcess]:
    folder = tmp_path_factory.mktemp("openapi")
    with replica_process(folder, settings_document(folder, tokens_per_s=0)) as process:
        process.wait_ready()
        yield process


def test_it_names_what_is_served(replica: ReplicaProcess) -> None:
    with urllib.request.urlopen(f"{replica.base}/v1/openapi.json") as answer:  # noqa: S310
        document = json.load(answer)
    assert set(document["paths"]) == {
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/embeddings",
        "/v1/models",
        "/v1/models/{model}",
    }
    chat = document["paths"]["/v1/chat/completions"]["post"]
    _, gate = chat["requestBody"]["content"]["application/json"]["schema"]["allOf"]
    assert gate["properties"]["model"]["enum"] == ["chat"]
    assert gate["properties"]["max_tokens"]["maximum"] == 64


def test_what_follows_it_and_what_does_not_is_answered_as_it_says(
    replica: ReplicaProcess, tmp_path: Path
) -> None:
    run = subprocess.run(
        [
            Path(sys.executable).with_name("schemathesis"),
            "run",
            f"{replica.base}/v1/openapi.json",
            "--no-color",
            "--seed=1",
            "--max-examples=6",
            "--phases=fuzzing",
            "--suppress-health-check=all",
            f"--checks={','.join(_CHECKS)}",
        ],
        cwd=tmp_path,  # it keeps what it found beside it
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "Tested: 5" in run.stdout, run.stdout
    assert "Traceback" not in replica.log()
