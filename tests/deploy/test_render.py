"""What a person sees of a fleet."""

import io
from pathlib import Path

from rich.console import Console

from warmfleet.deploy.ledger_view import ledger_table
from warmfleet.deploy.render import render_status
from warmfleet.deploy.status import FleetStatus, HostStatus
from warmfleet.plan.start_models import ColdStartPlan, PhasePlan
from warmfleet.telemetry.ledger import Ledger
from warmfleet.telemetry.scrape import ReplicaStatus

SHAPE = {"prompt_tokens": 200, "output_tokens": 16, "concurrency": 1, "stream": True}
LABEL = "warmup 200 to 16 tokens, stream, 1 at once"


def test_a_drained_replica_is_shown_with_the_way_back() -> None:
    names = ["replica-1", "replica-2", "replica-3"]
    status = FleetStatus(
        environment="lab",
        endpoint="https://127.0.0.1:8443",
        ca_file=Path("ca.pem"),
        api_key_file=Path("api_key"),
        hosts=[
            HostStatus(name=name, role="replica", site="gz", ssh="", private_address="192.0.2.1")
            for name in names
        ],
        replicas=[
            ReplicaStatus(host=names[0], model="chat", state="ready", drained=True),
            ReplicaStatus(host=names[1], model="chat", state="ready", drained=False),
            ReplicaStatus(host=names[2], model="chat", state="ready"),
        ],
    )
    written = io.StringIO()
    render_status(status, Console(file=written, width=100))
    shown = written.getvalue()
    assert status.drained == ["replica-1"]
    assert shown.count("drained (ready)") == 1
    assert shown.splitlines()[-1] == (
        "replica-1 is drained: it gets no requests until `warmfleet undrain lab replica-1`"
    )


PLAN = ColdStartPlan(
    first_s=12,
    reboot_s=12,
    restart_s=10,
    phases=[
        PhasePlan(name="weights", first_s=4, reboot_s=4, restart_s=2, basis="measured"),
        PhasePlan(name=LABEL, first_s=8, reboot_s=8, restart_s=8, basis="measured"),
    ],
)


def test_a_ledger_stands_beside_the_plan_phase_by_phase() -> None:
    """Matched by label: what the plan does not know and what did not happen leave gaps."""
    status = _status(
        ("replica-1", "chat", [("weights", 3.1, {}), ("warmup", 9.0, SHAPE), ("ready", 0.1, {})]),
        ("replica-2", "chat", [("weights", 2.2, {}), ("warmup", 8.5, SHAPE)]),
        plans={"chat": PLAN},
    )

    assert _rows(status) == [
        ["Phase", "planned", "replica-1", "replica-2"],
        ["weights", "2.00 to 4.00", "3.100", "2.200"],
        [LABEL, "8.00", "9.000", "8.500"],
        ["ready", "", "0.100", ""],
        ["total", "10.00 to 12.00", "12.200", "10.700"],
    ]


def test_each_model_has_its_own_plan_and_one_without_has_none() -> None:
    status = _status(
        ("replica-1", "chat", [("weights", 3.0, {})]),
        ("replica-1", "rank", [("weights", 1.0, {})]),
        ("replica-2", "chat", [("weights", 2.0, {})]),
        plans={"chat": PLAN, "code": PLAN},
    )

    assert _rows(status)[:2] == [
        ["Phase", "chat, planned", "replica-1", "replica-1", "replica-2"],
        ["weights", "2.00 to 4.00", "3.000", "1.000", "2.000"],
    ]


def _status(*starts, plans) -> FleetStatus:
    return FleetStatus(
        environment="lab",
        endpoint="https://127.0.0.1:8443",
        ca_file=Path("ca.pem"),
        api_key_file=Path("api_key"),
        hosts=[],
        replicas=[
            ReplicaStatus(host=host, model=model, state="ready", coldstart=_ledger(host, phases))
            for host, model, phases in starts
        ],
        cold_starts=plans,
    )


def _ledger(host: str, phases) -> Ledger:
    return Ledger.model_validate(
        {
            "schema_version": 1, "model": "chat", "revision": "0", "host": host, "state": "ready",
            "started_at": "2026-11-30T00:00:00Z", "total_s": sum(took for _, took, _ in phases),
            "phases": [
                {"name": name, "start_s": 0, "duration_s": took, "detail": detail}
                for name, took, detail in phases
            ],
        }
    )  # fmt: skip


def _rows(status: FleetStatus) -> list[list[str]]:
    table = ledger_table(status, [], None)
    assert table is not None
    columns = [[str(column.header), *map(str, column.cells)] for column in table.columns]
    return [list(row) for row in zip(*columns, strict=True)]
