"""What a deploy does to replicas that serve. Runs before the tests that take the fleet down."""

from pathlib import Path
from typing import Any

import pytest

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
