"""Facts of weights elsewhere are read once, and then come from the lock."""

import json
from pathlib import Path

import pytest

from tests.resolve.weights_content import CONFIG, sparse_safetensors, tensors
from tests.resolve.weights_server import WeightsServer
from warmfleet.errors import SourceError
from warmfleet.plan.lock import check_any_lock, plan_environment, write_lock
from warmfleet.project import Project

SPEC = """\
apiVersion: warmfleet/v1
name: own
models:
  - name: chat
    source: {hf: acme/own-model}
    task: chat
    context: 4k
    max_output: 512
traffic:
  callers:
    - {name: app, peak_qps: 1, prompt_tokens: 500, output_tokens: 200, stream: true}
users:
  - {where: CN-GD, share: 100%}
placement: {kind: baremetal}
"""
SHAPE = CONFIG | {
    "num_hidden_layers": 24,
    "hidden_size": 896,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "intermediate_size": 4864,
    "vocab_size": 151936,
    "max_position_embeddings": 32768,
}


@pytest.fixture
def project(tmp_path: Path, server: WeightsServer, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    place = "/acme/own-model/resolve/main"
    server.files[f"{place}/config.json"] = json.dumps(SHAPE).encode()
    server.files[f"{place}/model.safetensors"] = sparse_safetensors(tensors(SHAPE))
    (tmp_path / "Pulumi.yaml").write_text("name: warmfleet\n")
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "own.yaml").write_text(SPEC)
    return Project(tmp_path)


def test_a_plan_stays_what_it_is_when_nobody_answers(
    project: Project, server: WeightsServer
) -> None:
    plan = plan_environment(project, "own")
    facts = plan.models[0].facts
    assert facts.architecture.parameters == pytest.approx(494_000_000, rel=0.001)
    assert facts.size_bytes == pytest.approx(2 * facts.architecture.parameters, rel=0.001)
    write_lock(plan, project.plan_file("own"))
    asked = len(server.requests)
    server.stop()

    assert check_any_lock(project, "own") == plan
    assert plan_environment(project, "own") == plan
    assert len(server.requests) == asked

    with pytest.raises(SourceError, match=r"own\.yaml:5: models\[0\]\.source: http.* \(3 tries\)"):
        plan_environment(project, "own", refresh=True)


def test_a_source_that_changed_is_seen_when_it_is_asked_again(
    project: Project, server: WeightsServer
) -> None:
    write_lock(plan_environment(project, "own"), project.plan_file("own"))
    server.headers["X-Repo-Commit"] = "c" * 40

    assert plan_environment(project, "own").models[0].facts.revision is None
    assert plan_environment(project, "own", refresh=True).models[0].facts.revision == "c" * 40
