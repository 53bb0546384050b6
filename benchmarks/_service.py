"""One inference service as a process of its own, started and asked like a host would do it."""

import http.client
import json
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _figures import progress
from _streams import Target

from warmfleet.converge.weights import ensure_weights
from warmfleet.plan.lock import read_lock
from warmfleet.plan.models import ModelPlan
from warmfleet.project import Project
from warmfleet.stack.credentials import Credentials
from warmfleet.telemetry.tls_stream import client_context

HOST = "127.0.0.1"
REPLICA = "replica-1"
_READY_S = 300.0
_STOP_S = 60.0
_POLL_S = 0.02
_ENGINE = re.compile(r"event=engine_ready socket=(\S+) pid=(\d+)")


@dataclass(frozen=True)
class Running:
    """A warm service.

    Attributes:
        pid: of the service; its engine is a child.
        engine_pid: of that child.
        wall_s: from starting the process to the first answer of /readyz with 200.
        engine: the engine itself, asked past the service.
        traffic: the service as its gateway asks it.
    """

    pid: int
    engine_pid: int
    admin_port: int
    wall_s: float
    engine: Target
    traffic: Target

    def ledger(self) -> dict[str, Any]:
        """Return the ledger of this start."""
        status, body = self.admin("/coldstart")
        if status != http.client.OK:
            msg = f"/coldstart answered {status}"
            raise RuntimeError(msg)
        document = json.loads(body)
        if not isinstance(document, dict):
            msg = "/coldstart is no object"
            raise RuntimeError(msg)
        return document

    def admin(self, path: str) -> tuple[int, bytes]:
        """Ask the admin port."""
        return _get(self.admin_port, path, self.traffic.tls)


@contextmanager
def running(settings: dict[str, Any], credentials: Credentials | None = None) -> Iterator[Running]:
    """Start a service with these settings (addresses are filled in) and end it afterwards.

    With credentials it speaks mutual TLS, as it does on a host.
    """
    traffic_port, admin_port = _free_ports()
    with tempfile.TemporaryDirectory(prefix="warmfleet-bench-") as folder:
        file = Path(folder) / "settings.json"
        addressed = {
            **settings,
            "state_dir": folder,
            "traffic": {"host": HOST, "port": traffic_port},
            "admin": {"host": HOST, "port": admin_port},
            **({} if credentials is None else {"tls": _server_files(credentials)}),
        }
        file.write_text(json.dumps(addressed))
        tls = None if credentials is None else client_context(credentials)
        log = Path(folder) / "log"
        began = time.perf_counter()
        with (
            log.open("w") as output,
            subprocess.Popen(
                [sys.executable, "-m", "inference_app", str(file)], stdout=output, stderr=output
            ) as process,
        ):
            try:
                _wait_ready(process, lambda: _get(admin_port, "/readyz", tls)[0], log)
                wall_s = time.perf_counter() - began
                found = _ENGINE.search(log.read_text())
                if found is None:
                    msg = "the log of the service names no engine"
                    raise RuntimeError(msg)
                yield Running(
                    process.pid,
                    int(found[2]),
                    admin_port,
                    wall_s,
                    Target("engine", Path(found[1]), keeps=False),
                    Target(
                        "service", (HOST, traffic_port), keeps=True, tls=tls, server_name=REPLICA
                    ),
                )
            finally:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(timeout=_STOP_S)
                except subprocess.TimeoutExpired:
                    process.kill()


def lab_model() -> ModelPlan:
    """Return the lab's own model."""
    return read_lock(Project.find().plan_file("lab")).models[0]


def lab_weights() -> Path:
    """Return the lab's weights, fetched where they are not there."""
    return ensure_weights(Project.find(), lab_model(), progress)


def real_settings(**engine: Any) -> dict[str, Any]:
    """Return settings of a service with the lab's engine and model."""
    return _settings("llamacpp", lab_weights(), {"slots": 1, "options": {}, **engine})


def fake_settings(slots: int, **options: Any) -> dict[str, Any]:
    """Return settings of a service with the fake engine.

    Its warm-up is short at any speed, and bears a busy machine: the fake has nothing to warm.
    """
    settings = _settings("fake", Path("fake.gguf"), {"slots": slots, "options": options})
    settings["warmup"] |= {
        "shapes": [{"prompt_tokens": 60, "output_tokens": 1, "stream": True}],
        "window": 2,
        "ratio": 10.0,
    }
    return settings


def _settings(kind: str, path: Path, engine: dict[str, Any]) -> dict[str, Any]:
    model = lab_model()
    return {
        "revision": "benchmark",
        "model": {
            "name": "chat",
            "path": str(path),
            "size_bytes": model.size_bytes,
            "sha256": model.sha256,
        },
        "engine": {
            "kind": kind,
            "context_tokens": model.engine.context_tokens,
            "threads": 1,
            **engine,
        },
        "warmup": {
            "shapes": [{"prompt_tokens": 60, "output_tokens": 16, "stream": True}],
            "budget_s": 240,
            "max_probes": 20,
        },
        "limits": {"max_output_tokens": 4096, "max_in_flight": max(64, 2 * engine["slots"])},
        "timeouts": {
            "generation_s": 600,
            "keep_alive_s": 75,
            "probe_interval_s": 0.1,
            "drain_s": 30,
        },
    }


def _server_files(credentials: Credentials) -> dict[str, str]:
    return {
        "certificate": str(credentials.replica_certificate_file(REPLICA)),
        "key": str(credentials.replica_key_file(REPLICA)),
        "client_ca": str(credentials.fleet_ca_file),
    }


def _wait_ready(process: subprocess.Popen[bytes], status: Callable[[], int], log: Path) -> None:
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            msg = f"the service ended with {process.returncode}: {log.read_text()[-500:]}"
            raise RuntimeError(msg)
        try:
            if status() == http.client.OK:
                return
        except OSError:
            pass
        time.sleep(_POLL_S)
    msg = f"not ready within {_READY_S:g} s: {log.read_text()[-500:]}"
    raise RuntimeError(msg)


def _get(port: int, path: str, tls: ssl.SSLContext | None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(HOST, port, timeout=10)
    if tls is not None:
        # The certificate is for the replica's name and this address alike.
        connection = http.client.HTTPSConnection(HOST, port, timeout=10, context=tls)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def _free_ports() -> tuple[int, int]:
    with socket.socket() as first, socket.socket() as second:
        first.bind((HOST, 0))
        second.bind((HOST, 0))
        return int(first.getsockname()[1]), int(second.getsockname()[1])
