"""A site on loopback: SSH servers that run commands here, and fake gateways behind them."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.telemetry.conftest import FakeService, SshHost, replica_tls
from warmfleet.deploy.progress import Reporter
from warmfleet.inventory.ssh import write_known_hosts
from warmfleet.operate import gateways as gateways_module
from warmfleet.operate import lock as lock_module
from warmfleet.operate.target import Target
from warmfleet.plan.models import FleetPlan
from warmfleet.project import Project
from warmfleet.stack.credentials import Credentials
from warmfleet.stack.outputs import (
    BandwidthOutput,
    FleetOutput,
    HostOutput,
    HostRole,
    SiteOutput,
    SshOutput,
)

DATA = Path(__file__).parents[1] / "inventory" / "data"
ADDRESS = "192.0.2.11"


@dataclass
class FakeGateway:
    """Answers what the balancing knows; like nginx it reads who is drained from the file."""

    drained_file: Path
    ready: dict[str, bool] = field(default_factory=dict)
    in_flight: dict[str, list[int]] = field(default_factory=dict)
    """What is told at each look; the last one stays."""
    follows: bool = True

    def __post_init__(self) -> None:
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200 if self.path == "/replicas" else 404)
                self.end_headers()
                self.wfile.write(json.dumps(gateway.answer()).encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def drained(self) -> dict[str, Any]:
        return json.loads(self.drained_file.read_text()) if self.drained_file.exists() else {}

    def answer(self) -> list[dict[str, Any]]:
        drained = self.drained if self.follows else {}
        return [
            {
                "name": name,
                "model": "chat",
                "ready": ready,
                "drained": name in drained,
                "in_flight": self._next(name),
            }
            for name, ready in self.ready.items()
        ]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def _next(self, name: str) -> int:
        told = self.in_flight.get(name, [0])
        return told.pop(0) if len(told) > 1 else told[0]


@dataclass
class Site:
    """A gateway and two replicas, all on this machine."""

    project: Project
    plan: FleetPlan
    credentials: Credentials
    gateway: FakeGateway
    programs: Path
    fleet: FleetOutput
    servers: dict[str, SshHost]

    def target(self, name: str) -> Target:
        host = next(host for host in self.fleet.hosts if host.name == name)
        return Target(self.project, "lab", self.plan, self.fleet, self.credentials, host)

    def program(self, name: str, script: str) -> None:
        """Put a fake program before the real one of its name, for commands on hosts."""
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)


@pytest.fixture
def reporter() -> Iterator[Reporter]:
    with Reporter(Console(stderr=True, force_terminal=False)) as reporter:
        yield reporter


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    project = Project(tmp_path / "stacks")
    project.root.mkdir()
    programs = tmp_path / "programs"
    programs.mkdir()
    plan = FleetPlan.model_validate_json((DATA / "plan.json").read_bytes())
    quick = plan.timeouts.model_copy(update={"drain_s": 1.0, "probe_interval_s": 0.1})
    plan = plan.model_copy(update={"timeouts": quick})
    credentials = Credentials.ensure(project, "lab", ["localhost"], {"replica-1": ADDRESS})
    drained_file = tmp_path / "state" / "drained.json"
    monkeypatch.setattr(gateways_module, "DRAINED_FILE", str(drained_file))
    monkeypatch.setattr(lock_module, "_LOCK_FILE", str(tmp_path / "operation.lock"))
    monkeypatch.setattr(lock_module, "_PATIENCE_S", 1)
    gateway = FakeGateway(drained_file, ready={"replica-1": True, "replica-2": True})
    service = FakeService(
        {"/readyz": (503, '{"state": "warming"}')}, replica_tls(credentials, "replica-1")
    )
    ports = {("127.0.0.1", 9180): gateway.server.server_port, (ADDRESS, 9100): service.port}
    roles = {
        "gw-1": HostRole.GATEWAY,
        "replica-1": HostRole.REPLICA,
        "replica-2": HostRole.REPLICA,
    }
    servers = {name: SshHost(credentials.ssh_public_key, ports, "root", programs) for name in roles}
    hosts = [
        HostOutput(
            name=name,
            role=role,
            ssh=SshOutput(
                address="127.0.0.1",
                port=servers[name].port,
                user="root",
                host_key=servers[name].host_key,
            ),
            private_address=ADDRESS,
        )
        for name, role in roles.items()
    ]
    line = BandwidthOutput(committed_mbps=1, burst_mbps=2, carriers=["bgp"])
    fleet = FleetOutput(
        environment="lab",
        kind="lab",
        endpoint="https://127.0.0.1:8443",
        sites=[SiteOutput(name="gz", region="guangzhou", bandwidth=line, hosts=hosts)],
    )
    write_known_hosts(fleet, credentials)
    yield Site(project, plan, credentials, gateway, programs, fleet, servers)
    for server in servers.values():
        server.close()
    gateway.close()
    service.close()


@pytest.fixture
def wait_until() -> Callable[[Callable[[], bool]], None]:
    def wait(holds: Callable[[], bool]) -> None:
        ended = threading.Event()
        for _ in range(500):
            if holds():
                return
            ended.wait(0.02)
        raise AssertionError("it did not happen within 10 s")

    return wait
