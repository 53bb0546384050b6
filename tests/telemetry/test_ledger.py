"""The ledger as services write it."""

from datetime import UTC
from pathlib import Path

import pytest

from inference_app.ledger import Ledger as ServiceLedger
from warmfleet.telemetry.ledger import SCHEMA_VERSION, Ledger, Phase

LEDGER = (Path(__file__).parent / "data" / "ledger.json").read_text()
SHAPE = {"prompt_tokens": 200, "output_tokens": 16, "concurrency": 2}


def test_reads_what_a_service_writes(tmp_path: Path) -> None:
    now = 100.0
    written = ServiceLedger(
        tmp_path,
        {"model": "chat", "revision": "0123456789ab", "host": "replica-1"},
        started=now,
        clock=lambda: now,
    )
    now = 101.5
    written.begin("imports")
    now = 102.0
    written.finish()
    ledger = Ledger.model_validate(written.document())
    assert ledger.schema_version == SCHEMA_VERSION
    assert [phase.label for phase in ledger.phases] == ["process_start", "imports"]
    assert ledger.total_s == pytest.approx(2.0)
    assert ledger.started_at.tzinfo == UTC


def test_what_a_newer_service_adds_is_left_out() -> None:
    newer = LEDGER.replace('"model"', '"added_later": 1, "model"')
    assert Ledger.model_validate_json(newer) == Ledger.model_validate_json(LEDGER)


@pytest.mark.parametrize(
    ("detail", "label"),
    [
        ({}, "warmup"),
        ({**SHAPE, "stream": True}, "warmup 200 to 16 tokens, stream, 2 at once"),
        ({**SHAPE, "stream": False, "probes": 4}, "warmup 200 to 16 tokens, whole, 2 at once"),
    ],
)
def test_label_tells_shapes_apart(detail: dict[str, object], label: str) -> None:
    assert Phase(name="warmup", start_s=0, duration_s=1, detail=detail).label == label
