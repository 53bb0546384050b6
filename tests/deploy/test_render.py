"""What a person sees of a fleet."""

import io
from pathlib import Path

from rich.console import Console

from warmfleet.deploy.render import render_status
from warmfleet.deploy.status import FleetStatus, HostStatus
from warmfleet.telemetry.scrape import ReplicaStatus


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
