"""Replicas are read through SSH; whatever is wrong with one is told in one line, never raised."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warmfleet.plan.models import FleetPlan
from warmfleet.stack.credentials import Credentials
from warmfleet.stack.outputs import (
    BandwidthOutput,
    FleetOutput,
    HostOutput,
    HostRole,
    SiteOutput,
    SshOutput,
)
from warmfleet.telemetry import tunnel
from warmfleet.telemetry.ledger import Ledger
from warmfleet.telemetry.scrape import ReplicaStatus, scrape_replicas

DATA = Path(__file__).parent / "data"
LEDGER = (DATA / "ledger.json").read_text()
READY = json.dumps({"state": "ready", "model": "chat", "revision": "0123456789ab"})
WARM = {"/readyz": (200, READY), "/coldstart": (200, LEDGER)}

StartHost = Callable[[str, dict[int, int]], tuple[HostOutput, Any]]
StartService = Callable[..., Any]


@pytest.fixture
def plan() -> FleetPlan:
    return FleetPlan.model_validate_json(
        (DATA.parents[1] / "inventory/data/plan.json").read_bytes()
    )


def fleet(*hosts: HostOutput) -> FleetOutput:
    line = BandwidthOutput(committed_mbps=1, burst_mbps=2, carriers=["bgp"])
    site = SiteOutput(name="gz", region="guangzhou", bandwidth=line, hosts=list(hosts))
    return FleetOutput(
        environment="lab", kind="lab", endpoint="https://127.0.0.1:8443", sites=[site]
    )


def only(statuses: list[ReplicaStatus]) -> ReplicaStatus:
    (status,) = statuses
    return status


def test_a_warm_replica(
    start_host: StartHost, start_service: StartService, plan: FleetPlan, credentials: Credentials
) -> None:
    host, _ = start_host("replica-1", {9100: start_service(WARM).port})
    status = only(scrape_replicas(fleet(host), plan, credentials))
    assert (status.host, status.model, status.state) == ("replica-1", "chat", "ready")
    assert status.revision == "0123456789ab"
    assert status.error is None
    assert status.coldstart == Ledger.model_validate_json(LEDGER)


def test_a_replica_that_is_still_warming_says_so_itself(
    start_host: StartHost, start_service: StartService, plan: FleetPlan, credentials: Credentials
) -> None:
    warming = json.dumps({"state": "warming", "model": "chat", "revision": "0123456789ab"})
    service = start_service({**WARM, "/readyz": (503, warming)})
    host, _ = start_host("replica-1", {9100: service.port})
    status = only(scrape_replicas(fleet(host), plan, credentials))
    assert (status.state, status.error) == ("warming", None)
    assert status.coldstart is not None


def test_order_is_that_of_the_fleet_and_one_lost_host_hides_no_other(
    start_host: StartHost, start_service: StartService, plan: FleetPlan, credentials: Credentials
) -> None:
    first, server = start_host("replica-1", {9100: start_service(WARM).port})
    second, _ = start_host("replica-2", {9100: start_service(WARM, "replica-2").port})
    gateway = second.model_copy(update={"name": "gw-1", "role": HostRole.GATEWAY})
    server.close()
    statuses = scrape_replicas(fleet(gateway, first, second), plan, credentials)
    assert [(s.host, s.state) for s in statuses] == [
        ("replica-1", "unreachable"),
        ("replica-2", "ready"),
    ]


def test_the_gateway_says_who_is_drained(
    start_host: StartHost, start_service: StartService, plan: FleetPlan, credentials: Credentials
) -> None:
    known = [
        {"name": name, "model": "chat", "ready": True, "drained": drained, "in_flight": 0}
        for name, drained in (("replica-1", True), ("replica-2", False))
    ]
    balancing = start_service({"/replicas": (200, json.dumps(known))}, None)
    names = ("replica-1", "replica-2", "replica-3")
    hosts = [start_host(name, {9100: start_service(WARM, name).port})[0] for name in names]
    gateway, server = start_host("gw-1", {})
    gateway = gateway.model_copy(update={"role": HostRole.GATEWAY})
    server._ports["127.0.0.1", 9180] = balancing.port
    statuses = scrape_replicas(fleet(gateway, *hosts), plan, credentials)
    assert [status.drained for status in statuses] == [True, False, None]
    balancing.close()
    statuses = scrape_replicas(fleet(gateway, *hosts), plan, credentials)
    assert [(status.state, status.drained) for status in statuses] == [("ready", None)] * 3


def test_nothing_on_the_admin_port(
    start_host: StartHost, plan: FleetPlan, credentials: Credentials
) -> None:
    host, _ = start_host("replica-1", {})
    status = only(scrape_replicas(fleet(host), plan, credentials))
    assert status.state == "unreachable"
    assert status.error is not None
    assert status.error.startswith("host replica-1: nothing answers on 192.0.2.11:9100 (")


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("replica-2", "its certificate is not accepted: Hostname mismatch"),
        (None, "TLS: WRONG_VERSION_NUMBER"),
    ],
)
def test_somebody_else_on_the_admin_port(
    start_host: StartHost,
    start_service: StartService,
    plan: FleetPlan,
    credentials: Credentials,
    name: str | None,
    cause: str,
) -> None:
    host, _ = start_host("replica-1", {9100: start_service(WARM, name).port})
    status = only(scrape_replicas(fleet(host), plan, credentials))
    assert (status.state, status.coldstart) == ("unreachable", None)
    assert f"192.0.2.11:9100/readyz gave no readable answer ({cause}" in str(status.error)


def test_another_host_key_is_refused_before_anything_is_sent(
    start_host: StartHost, start_service: StartService, plan: FleetPlan, credentials: Credentials
) -> None:
    host, _ = start_host("replica-1", {9100: start_service(WARM).port})
    other, _ = start_host("replica-2", {})
    swapped = host.ssh.model_copy(update={"host_key": other.ssh.host_key})
    status = only(
        scrape_replicas(fleet(host.model_copy(update={"ssh": swapped})), plan, credentials)
    )
    assert status.state == "unreachable"
    assert "another host key than the one that is pinned" in str(status.error)


def test_a_key_that_is_not_let_in(
    start_host: StartHost, plan: FleetPlan, credentials: Credentials
) -> None:
    host, _ = start_host("replica-1", {})
    stranger = host.ssh.model_copy(update={"user": "root"})
    status = only(
        scrape_replicas(fleet(host.model_copy(update={"ssh": stranger})), plan, credentials)
    )
    assert "it does not let in the key" in str(status.error)


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_text("cut")])
def test_certificates_that_an_older_fleet_never_had(
    start_host: StartHost,
    plan: FleetPlan,
    credentials: Credentials,
    damage: Callable[[Path], object],
) -> None:
    host, _ = start_host("replica-1", {})
    damage(credentials.client_certificate_file)
    status = only(scrape_replicas(fleet(host), plan, credentials))
    assert status.state == "unreachable"
    assert f"run `warmfleet up {credentials.folder.name}`" in str(status.error)
    assert "\n" not in str(status.error)


def test_closed_port_names_host_and_address(plan: FleetPlan, credentials: Credentials) -> None:
    key = " ".join(credentials.ssh_public_key.split()[:2])
    host = HostOutput(
        name="replica-1",
        role=HostRole.REPLICA,
        ssh=SshOutput(address="127.0.0.1", port=1, user="ops", host_key=key),
        private_address="192.0.2.11",
    )
    status = only(scrape_replicas(fleet(host), plan, credentials))
    assert str(status.error).startswith("host replica-1 (ops@127.0.0.1:1) is not reachable: ")
    assert "\n" not in str(status.error)


def test_a_host_that_accepts_and_says_nothing_is_given_up(
    plan: FleetPlan, credentials: Credentials, monkeypatch: pytest.MonkeyPatch, silent_port: int
) -> None:
    monkeypatch.setattr(tunnel, "TIMEOUT_S", 0.3)
    key = " ".join(credentials.ssh_public_key.split()[:2])
    host = HostOutput(
        name="replica-1",
        role=HostRole.REPLICA,
        ssh=SshOutput(address="127.0.0.1", port=silent_port, user="ops", host_key=key),
        private_address="192.0.2.11",
    )
    began = time.monotonic()
    status = only(scrape_replicas(fleet(host), plan, credentials))
    assert status.state == "unreachable"
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("answers", "state", "said"),
    [
        ({"/readyz": (200, "nginx")}, "unreachable", "/readyz gave no readable answer"),
        ({"/readyz": (200, "{}"), "/coldstart": (200, LEDGER)}, "unreachable", "names no state"),
        ({**WARM, "/coldstart": (200, "{}")}, "ready", "ledger is not readable: schema_version"),
        (
            {
                **WARM,
                "/coldstart": (200, LEDGER.replace('"schema_version": 1', '"schema_version": 2')),
            },
            "ready",
            "ledger is not readable: schema_version",
        ),
    ],
)
def test_nonsense_is_told(
    start_host: StartHost,
    start_service: StartService,
    plan: FleetPlan,
    credentials: Credentials,
    answers: dict[str, tuple[int, str]],
    state: str,
    said: str,
) -> None:
    host, _ = start_host("replica-1", {9100: start_service(answers).port})
    status = only(scrape_replicas(fleet(host), plan, credentials))
    assert (status.state, status.coldstart) == (state, None)
    assert said in str(status.error)
