"""One inference service as a process of its own, started and asked like a host would do it."""

import http.client
import json
import os
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_READY_S = 300.0
_POLL_S = 0.02


@dataclass(frozen=True)
class Running:
    """A warm service."""

    traffic_port: int
    admin_port: int
    wall_s: float
    """From starting the process to the first answer of /readyz with 200."""

    def ledger(self) -> dict[str, Any]:
        """Return the ledger of this start."""
        status, body = _get(self.admin_port, "/coldstart")
        if status != http.client.OK:
            msg = f"/coldstart answered {status}"
            raise RuntimeError(msg)
        return json.loads(body)

    def chat_s(self, prompt: str, output_tokens: int) -> float:
        """Return the seconds of one whole answer."""
        body = {
            "model": "chat",
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": output_tokens,
            "ignore_eos": True,
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.traffic_port, timeout=_READY_S)
        began = time.perf_counter()
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        response = connection.getresponse()
        answer = response.read()
        seconds = time.perf_counter() - began
        connection.close()
        if response.status != http.client.OK:
            msg = f"the service answered {response.status}: {answer[:200]!r}"
            raise RuntimeError(msg)
        return seconds


@contextmanager
def running(settings: dict[str, Any]) -> Iterator[Running]:
    """Start a service with these settings (addresses are filled in) and end it afterwards."""
    traffic_port, admin_port = _free_ports()
    with tempfile.TemporaryDirectory(prefix="warmfleet-bench-") as folder:
        file = Path(folder) / "settings.json"
        addressed = {
            **settings,
            "state_dir": folder,
            "traffic": {"host": "127.0.0.1", "port": traffic_port},
            "admin": {"host": "127.0.0.1", "port": admin_port},
        }
        file.write_text(json.dumps(addressed))
        log = Path(folder) / "log"
        began = time.perf_counter()
        with (
            log.open("w") as output,
            subprocess.Popen(
                [sys.executable, "-m", "inference_app", str(file)], stdout=output, stderr=output
            ) as process,
        ):
            try:
                _wait_ready(process, admin_port, log)
                yield Running(traffic_port, admin_port, time.perf_counter() - began)
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=60)


def machine() -> str:
    """Return what the figures were measured on."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return f"{line.partition(':')[2].strip()}, {os.cpu_count()} cores"
    return f"{platform.machine()}, {os.cpu_count()} cores"


def _wait_ready(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _READY_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            msg = f"the service ended with {process.returncode}: {log.read_text()[-500:]}"
            raise RuntimeError(msg)
        try:
            if _get(port, "/readyz")[0] == http.client.OK:
                return
        except OSError:
            pass
        time.sleep(_POLL_S)
    msg = f"not ready within {_READY_S:g} s: {log.read_text()[-500:]}"
    raise RuntimeError(msg)


def _get(port: int, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def _free_ports() -> tuple[int, int]:
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        return int(first.getsockname()[1]), int(second.getsockname()[1])
