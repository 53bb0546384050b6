"""What a deploy does to a fleet that serves. Runs before the tests that take the fleet down."""

import http.client
import json
import ssl
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.e2e.background import Background
from tests.e2e.conftest import ENVIRONMENT, Fleet

pytestmark = [
    pytest.mark.machine,
    pytest.mark.engine,
    pytest.mark.timeout(900),
    pytest.mark.enable_socket,
]

# The role's own restart, with a certificate that no process was started with.
RESTART = """
- hosts: replica-2
  become: true
  gather_facts: false
  tasks:
    - ansible.builtin.include_role: {name: inference_service, tasks_from: restart}
      vars:
        inference_service_tls_certificate: another
        inference_service_tls_key: another
        inference_service_tls_client_ca: another
"""


def test_a_deploy_restarts_no_replica_below_the_floor(
    fleet: Fleet, first_up: Any, tmp_path: Path
) -> None:
    assert first_up
    playbook = tmp_path / "restart.yml"
    playbook.write_text(RESTART)
    allowed = fleet.run("ansible-playbook", "--check", str(playbook))
    assert allowed.returncode == 0, allowed.stdout + allowed.stderr
    assert "changed=1" in allowed.stdout, "it was to be restarted"
    fleet.warmfleet("drain", ENVIRONMENT, "replica-1")
    try:
        refused = fleet.run("ansible-playbook", "--check", str(playbook))
    finally:
        fleet.warmfleet("undrain", ENVIRONMENT, "replica-1")
    assert refused.returncode == 2, refused.stdout + refused.stderr
    said = " ".join(refused.stdout.split())
    assert (
        "replica-2 is not restarted: nobody would serve chat without replica-2; "
        "needed: 1 ready (the floor)" in said
    )
    assert "changed=0" in refused.stdout


class Streams(Background):
    """Streamed answers one after the other, in the background for as long as the block lasts."""

    def __init__(self, status: Any) -> None:
        self.whole: list[tuple[float, float]] = []
        """When each began and ended, in seconds; only those that were whole."""
        self.cut: list[str] = []
        self.certificates: dict[str, float] = {}
        """What the endpoint showed, and when first."""
        self._address = urlsplit(status["endpoint"])
        self._key = Path(status["api_key_file"]).read_text().strip()
        self._context = ssl.create_default_context(cafile=status["ca_file"])
        super().__init__(self._ask_once, self._look_once)

    def _ask_once(self) -> None:
        began = time.monotonic()
        try:
            last = self._ask().splitlines()[-2:]
        except (OSError, http.client.HTTPException) as error:
            last = [repr(error)]
        if "data: [DONE]" in last:
            self.whole.append((began, time.monotonic()))
        else:
            self.cut.append(f"{last}")

    def _ask(self) -> str:
        connection = self._connect(120)
        text = f"{time.monotonic()}: tell a long story."
        body = {
            "model": "chat",
            "messages": [{"role": "user", "content": text}],
            "max_tokens": 120,
            "stream": True,
        }
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        said = connection.getresponse().read().decode()
        connection.close()
        return said

    def _look_once(self) -> None:
        connection = self._connect(10)
        connection.connect()
        shown = connection.sock.getpeercert()["serialNumber"]
        connection.close()
        self.certificates.setdefault(shown, time.monotonic())
        time.sleep(0.2)  # streams go on without a gap beside it

    def _connect(self, timeout_s: float) -> http.client.HTTPSConnection:
        host, port = self._address.hostname, self._address.port
        return http.client.HTTPSConnection(
            host or "", port, context=self._context, timeout=timeout_s
        )


def test_a_renewed_certificate_reaches_a_gateway_that_serves(fleet: Fleet, first_up: Any) -> None:
    master = ("cat", "/run/nginx/nginx.pid")
    before = fleet.inside("gw-1", *master)
    secrets = Path(first_up["status"]["ca_file"]).parent
    for kept in ("server.pem", "fleet/client.pem"):
        (secrets / kept).unlink()  # as good as one that ends within 30 days
    with Streams(first_up["status"]) as streams:
        converged = fleet.warmfleet("converge", ENVIRONMENT, "--limit", "gw-1")
    _, renewed_at = streams.certificates.values()
    assert streams.cut == []
    assert any(began < renewed_at < ended for began, ended in streams.whole), "none was under way"
    assert converged["changed"] > 0
    assert fleet.inside("gw-1", *master) == before, "nginx was started anew"


def test_a_gateway_that_is_replaced_knows_who_was_drained(fleet: Fleet, first_up: Any) -> None:
    assert first_up
    wanted = ("podman", "inspect", "--format", "{{.Id}}", fleet.container("gw-1"))
    before = fleet.run(*wanted).stdout
    fleet.warmfleet("drain", ENVIRONMENT, "replica-1")
    try:
        replaced = fleet.warmfleet("replace", ENVIRONMENT, "gw-1", "--yes")
        replicas = fleet.warmfleet("status", ENVIRONMENT)["replicas"]
    finally:
        fleet.warmfleet("undrain", ENVIRONMENT, "replica-1")
    assert fleet.run(*wanted).stdout != before
    assert (replaced["resources"]["replace"], replaced["resources"]["create"]) == (1, 0)
    assert replaced["answer"]["replica"] == "replica-2"
    assert [(r["state"], r["drained"]) for r in replicas] == [("ready", True), ("ready", False)]
