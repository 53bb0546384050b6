"""The inventory as roles get it; a golden file shows a reviewer what a change does to hosts."""

import json
import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from cryptography import x509

from inference_app.settings import ServiceSettings
from warmfleet.content import content_root
from warmfleet.errors import StackError
from warmfleet.plan.models import FleetPlan
from warmfleet.project import Project
from warmfleet.stack.credentials import Credentials
from warmfleet.stack.outputs import FleetOutput

DATA = Path(__file__).parent / "data"
ROLES = content_root() / "roles"
Build = Callable[..., dict[str, Any]]


def hostvars(inventory: dict[str, Any], host: str) -> dict[str, Any]:
    return dict(inventory["_meta"]["hostvars"][host])


def settings(inventory: dict[str, Any], host: str) -> dict[str, Any]:
    return dict(hostvars(inventory, host)["inference_service_models"][0]["settings"])


def test_golden(build: Build, project: Project) -> None:
    """Run with WARMFLEET_UPDATE_GOLDEN=1 to accept a change."""
    golden = DATA / "inventory.json"
    found = json.loads(json.dumps(build()).replace(str(project.root), "/project"))
    if os.environ.get("WARMFLEET_UPDATE_GOLDEN"):
        golden.write_text(json.dumps(found, indent=2) + "\n")
    assert found == json.loads(golden.read_text())


def test_no_secret_in_it(build: Build, credentials: Credentials) -> None:
    text = json.dumps(build())
    for file in credentials.folder.rglob("*"):
        if file.is_file() and file.suffix != ".pub" and file.name != "known_hosts":
            for line in file.read_text().splitlines():
                if len(line) > 20:
                    assert line not in text, file


def test_service_reads_the_settings(build: Build, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(settings(build(), "replica-1")))
    loaded = ServiceSettings.load(file)
    assert str(loaded.model.path) == (
        "/srv/warmfleet/models/chat/b179c9523d0e/SmolLM2-135M-Instruct.Q4_1.gguf"
    )
    assert loaded.timeouts.keep_alive_s > 60  # what the proxy keeps idle: the 502 race


def test_replicas_prove_the_name_by_which_the_gateway_knows_them(
    build: Build, credentials: Credentials
) -> None:
    inventory = build()
    for replica in hostvars(inventory, "gw-1")["edge_proxy_replicas"]:
        certificate = x509.load_pem_x509_certificate(
            credentials.replica_certificate_file(replica["name"]).read_bytes()
        )
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName) == [replica["server_name"]]
        assert settings(inventory, replica["name"])["tls"]["key"] == (
            "/etc/warmfleet/inference/tls/replica.key"
        )


def test_replicas_of_one_plan_share_the_revision(build: Build) -> None:
    inventory = build()
    first, second = (settings(inventory, host) for host in ("replica-1", "replica-2"))
    assert first["traffic"] != second["traffic"]
    assert first["revision"] == second["revision"]
    assert len(first["revision"]) == 12


@pytest.mark.parametrize(
    "change",
    [
        {"models": [{"sha256": "0" * 64}]},
        {"models": [{"engine": {"slots": 3}}]},
        {"models": [{"warmup": {"ratio": 1.4}}]},
        {"models": [{"limits": {"max_in_flight": 3}}]},
        {"timeouts": {"generation_s": 89.0}},
    ],
    ids=json.dumps,
)
def test_revision_follows_weights_and_settings(
    build: Build, plan: FleetPlan, change: dict[str, Any]
) -> None:
    other = FleetPlan.model_validate(merged(plan.model_dump(mode="json"), change))
    before = settings(build(), "replica-1")["revision"]
    assert settings(build(plan=other), "replica-1")["revision"] != before


def test_revision_follows_code(build: Build, other_release: Any) -> None:
    before = settings(build(), "replica-1")["revision"]
    assert settings(build(release=other_release), "replica-1")["revision"] != before


def test_revision_leaves_the_line_and_the_proxy_alone(build: Build, plan: FleetPlan) -> None:
    change = {"timeouts": {"client_s": 400.0, "proxy_connect_s": 1.5}, "catalog_version": "other"}
    other = FleetPlan.model_validate(merged(plan.model_dump(mode="json"), change))
    assert settings(build(plan=other), "replica-1") == settings(build(), "replica-1")


def test_hosts_let_in_what_they_listen_on_and_only_from_who_needs_it(build: Build) -> None:
    inventory = build()
    gateway, replica = hostvars(inventory, "gw-1"), hostvars(inventory, "replica-1")
    ssh = {"name": "ssh", "port": 22}
    assert gateway["host_baseline_ports"] == [
        ssh,
        {"name": "https", "port": gateway["edge_proxy_listen_port"]},
    ]
    listening = settings(inventory, "replica-1")
    sources = ["10.89.77.2"]  # the gateway's private address
    assert replica["host_baseline_ports"] == [
        ssh,
        {"name": "traffic chat", "port": listening["traffic"]["port"], "sources": sources},
        {"name": "admin chat", "port": listening["admin"]["port"], "sources": sources},
    ]


@pytest.mark.parametrize(
    ("host", "roles"),
    [
        ("gw-1", ["host_baseline", "edge_proxy"]),
        ("replica-1", ["host_baseline", "model_store", "inference_service"]),
    ],
)
def test_roles_accept_their_variables(build: Build, host: str, roles: list[str]) -> None:
    """Validate with Ansible's own check of argument_specs: names, types, what is required."""
    given = {
        name: value
        for name, value in hostvars(build(), host).items()
        if not name.startswith(("ansible_", "mitogen_"))
    }
    looked_up = {
        name
        for play in yaml.safe_load((ROLES / "site.yml").read_text())
        for variables in (play.get("vars", {}), *play.get("roles", []))
        for name, value in variables.items()
        if "warmfleet_secret" in str(value)
    }
    for role in roles:
        file = ROLES / role / "meta" / "argument_specs.yml"
        specs = yaml.safe_load(file.read_text())["argument_specs"]["main"]["options"]
        mine = {name: given.pop(name) for name in list(given) if name.startswith(f"{role}_")}
        secrets = {
            name: [] if spec["type"] == "list" else ""
            for name, spec in specs.items()
            if spec.get("required") and name in looked_up
        }
        problems = ArgumentSpecValidator(specs).validate({**secrets, **mine}).error_messages
        assert problems == [], role
    assert given == {}, "variables of no role"


def test_only_the_pinned_key_is_accepted(build: Build, credentials: Credentials) -> None:
    """Ask ssh itself what it makes of the options."""
    variables = hostvars(build(), "replica-1")
    arguments = shlex.split(variables["ansible_ssh_common_args"])
    shown = subprocess.run(
        ["ssh", "-G", "-F", "none", *arguments, "-p", "2211", "root@127.0.0.1"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    options = dict(line.split(" ", 1) for line in shown)
    assert options["stricthostkeychecking"] == "true"
    assert options["globalknownhostsfile"] == "/dev/null"
    assert options["passwordauthentication"] == "no"
    assert options["userknownhostsfile"] == str(credentials.known_hosts_file)


def test_known_hosts_has_the_pinned_keys_and_no_other(
    build: Build, credentials: Credentials, fleet: FleetOutput
) -> None:
    credentials.known_hosts_file.write_text("[127.0.0.1]:2299 ssh-ed25519 AAAA-of-a-gone-host\n")
    build()
    first, second, third = fleet.hosts
    assert credentials.known_hosts_file.read_text().splitlines() == [
        f"[127.0.0.1]:2210 {first.ssh.host_key}",
        f"[127.0.0.1]:2211 {second.ssh.host_key}",
        f"192.0.2.12 {third.ssh.host_key}",
    ]
    assert credentials.known_hosts_file.stat().st_mode & 0o777 == 0o600


def test_user_that_is_not_root_becomes_root(build: Build) -> None:
    inventory = build()
    assert hostvars(inventory, "replica-1")["ansible_become"] is False
    assert hostvars(inventory, "replica-2")["ansible_become"] is True


def test_times_are_whole_seconds_where_they_are_whole(build: Build, plan: FleetPlan) -> None:
    """Nginx does not read 60.0s."""
    gateway = hostvars(build(), "gw-1")
    assert isinstance(gateway["edge_proxy_keepalive_s"], int)
    change = {"timeouts": {"probe_interval_s": 0.5}}
    other = FleetPlan.model_validate(merged(plan.model_dump(mode="json"), change))
    assert hostvars(build(plan=other), "gw-1")["edge_proxy_probe_interval_s"] == 0.5


def test_stack_of_another_plan_is_refused(build: Build, fleet: FleetOutput) -> None:
    (site,) = fleet.sites
    fewer = fleet.model_copy(update={"sites": [site.model_copy(update={"hosts": site.hosts[:-1]})]})
    with pytest.raises(StackError) as caught:
        build(fleet=fewer)
    assert "has hosts gw-1, replica-1; the plan has gw-1, replica-1, replica-2" in str(caught.value)
    assert "warmfleet up lab" in str(caught.value)


def merged(value: Any, change: Any) -> Any:
    """Return ``value`` with the leaves of ``change``; lists go item by item."""
    if isinstance(change, dict):
        return value | {key: merged(value.get(key), change[key]) for key in change}
    if isinstance(change, list) and isinstance(value, list):
        return [merged(old, new) for old, new in zip(value, change, strict=True)]
    return change
