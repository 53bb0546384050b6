"""Events of ansible-runner, read; the cases of messages are data."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from warmfleet.converge.events import TaskEvent, TaskStatus, read_event, read_message

CASES = yaml.safe_load((Path(__file__).parent / "data" / "messages.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_message(case: dict[str, Any]) -> None:
    assert read_message(case["result"]) == case["message"]


def test_endless_message_is_cut() -> None:
    message = read_message({"msg": "x" * 5000})
    assert len(message) < 700
    assert message.endswith("...")


def event(name: str, **data: Any) -> dict[str, Any]:
    common = {"host": "replica-1", "role": "model_store", "task": "Copy | Push"}
    return {"event": name, "event_data": common | data}


@pytest.mark.parametrize(
    ("raw", "status", "shown"),
    [
        (event("runner_on_start"), TaskStatus.STARTED, ""),
        (event("runner_on_ok", res={"changed": False}, duration=0.01), TaskStatus.OK, ": ok"),
        (
            event("runner_on_ok", res={"changed": True}, duration=3.21),
            TaskStatus.CHANGED,
            ": changed in 3.2 s",
        ),
        (event("runner_on_skipped", res={}), TaskStatus.SKIPPED, ": skipped"),
        (
            event("runner_retry", res={"attempts": 2, "retries": 30}),
            TaskStatus.RETRYING,
            ": retrying (try 2 of 30)",
        ),
        (
            event("runner_on_failed", res={"msg": "disk full"}, duration=1.0),
            TaskStatus.FAILED,
            ": failed in 1.0 s (disk full)",
        ),
        (
            event("runner_on_failed", res={"msg": "disk full"}, ignore_errors=True),
            TaskStatus.IGNORED,
            ": ignored (disk full)",
        ),
        (
            event("runner_on_unreachable", res={"msg": "no route"}),
            TaskStatus.UNREACHABLE,
            ": unreachable (no route)",
        ),
    ],
)
def test_event(raw: dict[str, Any], status: TaskStatus, shown: str) -> None:
    found = read_event(raw)
    assert found is not None
    assert found.status is status
    assert str(found) == f"replica-1: model_store: Copy | Push{shown}"


@pytest.mark.parametrize(
    "raw", [{}, event("playbook_on_task_start"), {"event": "verbose", "stdout": "Using ..."}]
)
def test_events_of_no_task_on_a_host(raw: dict[str, Any]) -> None:
    assert read_event(raw) is None


def test_label_leaves_out_what_is_not_there() -> None:
    assert TaskEvent("gw-1", "", "Ping", TaskStatus.OK).label == "gw-1: Ping"
