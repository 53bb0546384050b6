"""The plugins that Ansible loads, as Ansible loads them."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleLookupError
from ansible.plugins.loader import lookup_loader

from warmfleet.content import content_root
from warmfleet.project import Project
from warmfleet.stack.credentials import Credentials

PROGRAMS = Path(sys.executable).parent


def ansible(program: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(PROGRAMS / program), *arguments],
        cwd=content_root(),
        env={
            "PATH": os.environ["PATH"],
            "HOME": os.environ["HOME"],
            "ANSIBLE_CONFIG": str(content_root() / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1",
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def lookup(project: Project) -> Callable[..., list[str]]:
    """Look secrets up with the variables that the inventory gives every host."""
    lookup_loader.add_directory(str(content_root() / "roles" / "lookup_plugins"))
    plugin = lookup_loader.get("warmfleet_secret")
    known = {"warmfleet_environment": "lab", "warmfleet_project": str(project.root)}

    def run(*terms: str, variables: dict[str, str] = known, **options: str) -> list[str]:
        return list(plugin.run(list(terms), variables, **options))

    return run


def test_ansible_sees_the_same_inventory(
    build: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    built = build()
    composed = tmp_path / "inventory.json"
    composed.write_text(json.dumps(built))
    source = tmp_path / "test.warmfleet.yml"
    source.write_text(json.dumps({"plugin": "warmfleet", "composed": str(composed)}))
    shown = ansible("ansible-inventory", "-i", str(source), "--list")
    assert shown.returncode == 0, shown.stderr
    listed = json.loads(shown.stdout)
    shared = built["all"]["vars"]
    for host, variables in built["_meta"]["hostvars"].items():
        seen = plain(listed["_meta"]["hostvars"][host])
        wanted = variables | shared
        assert {name: seen.get(name) for name in wanted} == wanted
    for group in ("gateways", "replicas", "site_hangzhou"):
        assert listed[group]["hosts"] == built[group]["hosts"]


def test_nothing_is_up_is_one_line(tmp_path: Path) -> None:
    """The project has no such environment: what is missing, and no other plugin's opinion."""
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "edge.yaml").touch()
    shown = ansible(
        "ansible-playbook",
        "roles/site.yml",
        WARMFLEET_ENVIRONMENT="lab",
        WARMFLEET_PROJECT=str(tmp_path),
    )
    assert shown.returncode == 2
    missing = f"no environment 'lab' in {tmp_path}/specs (environments: edge)"
    assert shown.stderr.splitlines() == [f"[ERROR]: {missing}"]


def test_syntax_check_needs_no_stack(tmp_path: Path) -> None:
    shown = ansible(
        "ansible-playbook", "--syntax-check", "roles/site.yml", WARMFLEET_PROJECT=str(tmp_path)
    )
    assert shown.returncode == 0, shown.stderr


def test_lookup_gives_the_hash_and_never_the_key(
    lookup: Callable[..., list[str]], credentials: Credentials
) -> None:
    key = credentials.api_key_file.read_text()
    assert lookup("api_key_sha256") == [hashlib.sha256(key.encode()).hexdigest()]
    with pytest.raises(AnsibleLookupError, match="no secret 'api_key'; known are api_key_sha256"):
        lookup("api_key")


def test_lookup_gives_certificate_and_key_in_order(
    lookup: Callable[..., list[str]], credentials: Credentials
) -> None:
    assert lookup("server.pem", "server.key") == [
        credentials.server_certificate_file.read_text(),
        credentials.server_key_file.read_text(),
    ]


def test_lookup_gives_a_replica_its_own_certificate_and_key(
    lookup: Callable[..., list[str]], credentials: Credentials, project: Project
) -> None:
    known = {
        "warmfleet_environment": "lab",
        "warmfleet_project": str(project.root),
        "inventory_hostname": "replica-2",
    }
    assert lookup("replica.pem", "replica.key", "fleet_ca.pem", variables=known) == [
        credentials.replica_certificate_file("replica-2").read_text(),
        credentials.replica_key_file("replica-2").read_text(),
        credentials.fleet_ca_file.read_text(),
    ]
    assert lookup("client.pem", "client.key") == [
        credentials.client_certificate_file.read_text(),
        credentials.client_key_file.read_text(),
    ]


def test_lookup_says_which_file_is_missing(
    lookup: Callable[..., list[str]], credentials: Credentials
) -> None:
    credentials.server_key_file.unlink()
    with pytest.raises(AnsibleLookupError) as caught:
        lookup("server.key")
    assert f"secret 'server.key' of lab: {credentials.server_key_file}: No such file" in str(
        caught.value
    )
    assert "run warmfleet up lab" in str(caught.value)


def test_lookup_outside_the_inventory_asks_for_the_environment(
    lookup: Callable[..., list[str]], project: Project
) -> None:
    with pytest.raises(AnsibleLookupError, match="needed: environment=NAME"):
        lookup("server.pem", variables={})
    found = lookup("server.pem", variables={}, environment="lab", project=str(project.root))
    assert found == lookup("server.pem")


def plain(value: Any) -> Any:
    """Take off the marks of values that Ansible never reads as templates."""
    if isinstance(value, dict):
        if set(value) == {"__ansible_unsafe"}:
            return value["__ansible_unsafe"]
        return {key: plain(entry) for key, entry in value.items()}
    return [plain(entry) for entry in value] if isinstance(value, list) else value
