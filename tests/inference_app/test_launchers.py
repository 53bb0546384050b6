"""What the service reads from an engine's output."""

from pathlib import Path

import pytest

from inference_app.engines.base import Progress
from inference_app.engines.registry import launcher_for
from inference_app.settings import ServiceSettings
from tests.inference_app.support import settings_document

_LLAMA_LOG = [
    ("0.00.002.752 I srv          init: build_info: b0-unknown", None),
    ("0.00.005.553 I srv          init: loading model", None),
    ("0.00.006.328 I srv    load_model: loading model '/srv/m/chat.gguf'", "weights"),
    ("0.00.720.774 I cmn          init: llama threadpool init, n_threads = 1", "engine_init"),
    (
        "0.00.792.691 I srv    load_model: initializing, n_slots = 2, n_ctx_slot = 2048",
        "engine_init",
    ),
    ("0.00.796.922 I srv          init: model loaded", None),
    ("3.04.346.939 I slot get_availabl: id  0 | task -1 | selected slot by LRU", None),
]


@pytest.mark.parametrize(("line", "phase"), _LLAMA_LOG)
def test_phases_of_llamacpp_come_from_its_log(tmp_path: Path, line: str, phase: str | None) -> None:
    document = settings_document(tmp_path)
    document["engine"] |= {"kind": "llamacpp", "options": {}}
    progress = launcher_for(ServiceSettings.model_validate(document)).progress(line)
    assert (progress.phase if progress else None) == phase
    if phase == "weights":
        assert progress is not None
        assert progress.detail == {"bytes": document["model"]["size_bytes"]}


@pytest.mark.parametrize("kind", ["fake", "llamacpp"])
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            '{"progress": {"phase": null, "listening": true, "detail": {}}}',
            Progress(listening=True),
        ),
        (
            '{"progress": {"phase": "weights", "listening": false, "detail": {"bytes": 5}}}',
            Progress(phase="weights", detail={"bytes": 5}),
        ),
        ('{"progress": {"phase": ', None),
        ('{"progress": []}', None),
        ("serving", None),
    ],
)
def test_progress_lines(tmp_path: Path, kind: str, line: str, expected: Progress | None) -> None:
    document = settings_document(tmp_path)
    document["engine"] |= {"kind": kind, "options": {}}
    assert launcher_for(ServiceSettings.model_validate(document)).progress(line) == expected


@pytest.mark.parametrize("kind", ["fake", "llamacpp"])
def test_probes_compute_everything(tmp_path: Path, kind: str) -> None:
    document = settings_document(tmp_path)
    document["engine"] |= {"kind": kind, "options": {}}
    launcher = launcher_for(ServiceSettings.model_validate(document))
    assert launcher.probe_fields == {"cache_prompt": False, "ignore_eos": True}
