"""The real engine, the real provider, real containers: one stack from its first update to its end.

The tests run in order on one stack; each leaves it as it found it.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from warmfleet.errors import StackError
from warmfleet.plan.lock import plan_environment, write_lock
from warmfleet.project import Project
from warmfleet.provider.backend import HostSpec, owner_of
from warmfleet.provider.image import image_tag
from warmfleet.provider.podman import Podman
from warmfleet.stack.credentials import Credentials
from warmfleet.stack.engine import Engine
from warmfleet.stack.stale_locks import Holder
from warmfleet.stack.workspace import Workspace

pytestmark = [pytest.mark.engine, pytest.mark.machine, pytest.mark.timeout(300)]

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = "t-engine"
SSH_PORT = 23941  # gw-1; the replicas have the next two
GATEWAY, REPLICA_1, REPLICA_2 = (
    f"warmfleet-{ENVIRONMENT}-{host}" for host in ("gw-1", "replica-1", "replica-2")
)
UNCHANGED = {"create": 0, "update": 0, "replace": 0, "delete": 0, "same": 8}


def write_spec(project: Project, **replacements: str) -> None:
    own = {
        "name: lab ": f"name: {ENVIRONMENT} ",
        "8443": "23949",
        "2210": str(SSH_PORT),
        "10.89.77.": "10.89.94.",
    }
    text = (ROOT / "stacks" / "specs" / "lab.yaml").read_text()
    for old, new in (own | replacements).items():
        assert old in text
        text = text.replace(old, new)
    (project.root / "specs" / f"{ENVIRONMENT}.yaml").write_text(text)


def lock(project: Project) -> None:
    write_lock(plan_environment(project, ENVIRONMENT), project.plan_file(ENVIRONMENT))


def podman(*arguments: str) -> str:
    return subprocess.run(
        ["podman", *arguments], check=True, capture_output=True, text=True, timeout=60
    ).stdout.strip()


def containers() -> dict[str, str]:
    label = f"label=warmfleet.environment={ENVIRONMENT}"
    listed = json.loads(podman("ps", "--all", "--format", "json", "--filter", label))
    return {container["Names"][0]: container["State"] for container in listed}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("project") / "stacks")
    for folder in ("specs", "plans"):
        (project.root / folder).mkdir(parents=True)
    shutil.copy(ROOT / "stacks" / "__main__.py", project.root)
    settings = (ROOT / "stacks" / "Pulumi.yaml").read_text()
    assert "../.venv/bin" in settings
    settings = settings.replace("../.venv/bin", str(Path(sys.prefix) / "bin"))
    (project.root / "Pulumi.yaml").write_text(settings)
    write_spec(project)
    lock(project)
    Podman().remove_network(f"warmfleet-{ENVIRONMENT}")  # with hosts that a killed run left
    yield project
    Podman().remove_network(f"warmfleet-{ENVIRONMENT}")  # only when a test left it


@pytest.fixture(scope="module")
def workspace(project):
    return Workspace(project, ENVIRONMENT)


def ignore(_line: str) -> None: ...


def test_a_preview_makes_nothing(workspace):
    assert workspace.fleet() is None
    assert workspace.preview(ignore)["create"] == 8
    assert containers() == {}


def test_up_makes_hosts_and_tells_of_them(workspace, project):
    lines: list[str] = []
    result = workspace.up(lines.append)
    assert result.changes == {**UNCHANGED, "create": 8, "same": 0}
    assert containers() == dict.fromkeys((GATEWAY, REPLICA_1, REPLICA_2), "running")
    assert result.fleet == workspace.fleet()
    assert [host.ssh.port for host in result.fleet.hosts] == [SSH_PORT, SSH_PORT + 1, SSH_PORT + 2]
    assert any(line.startswith(f"{ENVIRONMENT}-") and "done in" in line for line in lines)

    credentials = Credentials(project.environment_state(ENVIRONMENT))
    known_hosts = project.root / "known_hosts"
    for host in result.fleet.hosts:
        known_hosts.write_text(f"[127.0.0.1]:{host.ssh.port} {host.ssh.host_key}\n")
        options = [f"UserKnownHostsFile={known_hosts}", "StrictHostKeyChecking=yes"]
        answer = subprocess.run(
            [
                *("ssh", "-o", "BatchMode=yes", *(f"-o{option}" for option in options)),
                *("-i", str(credentials.ssh_private_key_file), "-p", str(host.ssh.port)),
                *(f"{host.ssh.user}@{host.ssh.address}", "hostname"),
            ],
            check=True,
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert answer.stdout.strip() == host.name


def test_up_again_changes_nothing(workspace):
    assert workspace.up(ignore).changes == UNCHANGED


def test_bare_pulumi_sees_the_same_stack(project):
    folders = os.pathsep.join([str(Path(sys.prefix) / "bin"), str(ROOT / ".tools" / "bin")])
    variables = {"PATH": f"{folders}:{os.environ['PATH']}", "HOME": os.environ["HOME"]}
    answer = subprocess.run(
        ["pulumi", "up", "-s", ENVIRONMENT, "--yes", "--expect-no-changes", "--non-interactive"],
        cwd=project.root,
        env=variables | project.pulumi_environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "Traceback" not in answer.stdout + answer.stderr
    assert [path.name for path in project.root.glob("Pulumi*")] == ["Pulumi.yaml"]


def test_a_new_rate_is_a_reviewable_diff(workspace, project):
    old = plan_environment(project, ENVIRONMENT).sites[0].bandwidth.committed_mbps
    write_spec(
        project,
        **{"output_tokens: 32, stream: false": "output_tokens: 32, stream: false, response: 5 MB"},
    )
    lock(project)
    new = plan_environment(project, ENVIRONMENT).sites[0].bandwidth.committed_mbps
    try:
        assert workspace.preview(ignore) == {**UNCHANGED, "update": 1, "same": 7}
        diff = Engine(project).command("preview", "--diff", "--stack", ENVIRONMENT)
        assert f"~ committed_mbps: {old} => {new}" in diff
    finally:
        write_spec(project)
        lock(project)


def test_a_stopped_and_a_removed_host_are_found_and_repaired(workspace):
    before = workspace.fleet()
    podman("stop", "--time", "2", REPLICA_1)
    podman("rm", "--force", "--time", "2", REPLICA_2)
    assert workspace.refresh(ignore) == {**UNCHANGED, "update": 1, "delete": 1, "same": 6}
    result = workspace.up(ignore)
    assert result.changes == {**UNCHANGED, "create": 1, "update": 1, "same": 6}
    assert containers() == dict.fromkeys((GATEWAY, REPLICA_1, REPLICA_2), "running")
    keys = [
        (old.ssh.host_key, new.ssh.host_key)
        for old, new in zip(before.hosts, result.fleet.hosts, strict=True)
    ]
    assert [old == new for old, new in keys] == [True, True, False]


def test_all_hosts_stopped_as_after_a_reboot_come_back_with_one_up(workspace):
    podman("stop", "--time", "2", GATEWAY, REPLICA_1, REPLICA_2)
    assert workspace.up(ignore).changes == {**UNCHANGED, "update": 3, "same": 5}
    assert set(containers().values()) == {"running"}


def test_one_host_is_replaced_and_no_other_is_touched(workspace):
    before = workspace.fleet()
    podman("stop", "--time", "2", GATEWAY)  # what else is to be repaired waits for an up
    lines: list[str] = []
    result = workspace.replace("replica-1", lines.append)
    assert (result.changes["replace"], result.changes["create"]) == (1, 0)
    assert containers()[GATEWAY] != "running"
    keys = [
        (old.ssh.host_key, new.ssh.host_key)
        for old, new in zip(before.hosts, result.fleet.hosts, strict=True)
    ]
    assert [old == new for old, new in keys] == [True, False, True]
    assert podman("exec", REPLICA_1, "hostname") == "replica-1"
    assert workspace.up(ignore).changes == {**UNCHANGED, "update": 1, "same": 7}
    with pytest.raises(StackError, match="has no host replica-9; run warmfleet up"):
        workspace.replace("replica-9", ignore)


def test_a_busy_port_is_one_clear_line(workspace):
    podman("rm", "--force", "--time", "2", REPLICA_2)
    with socket.create_server(("127.0.0.1", SSH_PORT + 2)), pytest.raises(StackError) as caught:
        workspace.up(ignore)
    assert str(caught.value).startswith(f"pulumi up of {ENVIRONMENT} failed: ")
    assert f"port {SSH_PORT + 2} on 127.0.0.1 is taken by another program" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert workspace.up(ignore).changes["create"] == 1


def test_what_a_killed_run_left_is_replaced(workspace, project):
    podman("rm", "--force", "--time", "2", REPLICA_2)
    key = Credentials(project.environment_state(ENVIRONMENT)).ssh_public_key
    left = HostSpec(
        name=REPLICA_2,
        hostname="x",
        environment=ENVIRONMENT,
        owner=owner_of(key),
        image=image_tag(),
    )
    Podman().create_host(left)
    result = workspace.up(ignore)
    assert podman("exec", REPLICA_2, "hostname") == "replica-2"
    assert len(containers()) == 3
    assert workspace.up(ignore).changes == UNCHANGED
    assert result.fleet == workspace.fleet()


def test_a_second_checkout_is_refused_before_it_touches_anything(workspace, tmp_path, project):
    other = Project(tmp_path / "stacks")
    shutil.copytree(project.root, other.root, ignore=shutil.ignore_patterns(".warmfleet"))
    before = containers()
    with pytest.raises(StackError, match="another checkout on this machine") as caught:
        Workspace(other, ENVIRONMENT).up(ignore)
    assert "\n" not in str(caught.value)
    Workspace(other, ENVIRONMENT).destroy(ignore)
    assert containers() == before
    assert workspace.up(ignore).changes == UNCHANGED


def test_a_stale_lock_is_refused_with_one_line(workspace, project):
    write_spec(project, **{"replicas: 2": "replicas: 3"})
    try:
        with pytest.raises(StackError) as caught:
            workspace.up(ignore)
    finally:
        write_spec(project)
    message = str(caught.value)
    assert f"{ENVIRONMENT}.json is stale: " in message
    assert f"run: warmfleet plan {ENVIRONMENT} --write" in message
    assert "Traceback" not in message
    assert "\n" not in message
    assert workspace.up(ignore).changes == UNCHANGED


def lock_file(project, **holder):
    locks = project.state / "backend/.pulumi/locks/organization/warmfleet" / ENVIRONMENT
    locks.mkdir(parents=True, exist_ok=True)
    held = locks / "other.json"
    content = {"pid": 2**22 + 1, "username": "someone", "timestamp": "2026-01-02T03:04:05Z"}
    held.write_text(json.dumps(content | holder))
    return held


def test_a_lock_names_its_holder(workspace, project):
    held = lock_file(project, hostname="elsewhere")
    try:
        with pytest.raises(StackError) as caught:
            workspace.up(ignore)
    finally:
        held.unlink()
    assert str(caught.value) == (
        f"stack {ENVIRONMENT} is locked by someone@elsewhere (pid {2**22 + 1}) since "
        "2026-01-02T03:04:05Z; wait until that has ended, or end it with Ctrl-C there, and run "
        "this again"
    )


def test_what_a_killed_engine_left_is_cleared_and_done_again(workspace, project):
    podman("rm", "--force", "--time", "2", REPLICA_2)
    killed: list[int] = []

    def kill(line: str) -> None:
        if line.endswith("replica-2: creating"):
            [lock] = [Holder.read(path.read_text()) for path in locks_of(project)]
            killed.append(lock.pid)
            os.kill(lock.pid, signal.SIGKILL)

    with pytest.raises(StackError, match="was ended by SIGKILL; run it again"):
        workspace.up(kill)
    assert len(killed) == len(locks_of(project)) == 1
    lines: list[str] = []
    assert workspace.up(lines.append).changes["create"] == 1
    assert lines[0].startswith(f"unlocked stack {ENVIRONMENT}: it was locked by ")
    assert f"(pid {killed[0]})" in lines[0]
    assert containers() == dict.fromkeys((GATEWAY, REPLICA_1, REPLICA_2), "running")
    state = json.loads(Engine(project).command("stack", "export", "--stack", ENVIRONMENT))
    assert "pending_operations" not in state["deployment"]
    assert locks_of(project) == []
    lines.clear()
    assert workspace.up(lines.append).changes == UNCHANGED
    assert not [line for line in lines if "unlocked" in line or "killed" in line]


def locks_of(project):
    return list((project.state / "backend/.pulumi/locks").rglob("*.json"))


def test_no_secret_is_in_the_state(project):
    credentials = Credentials(project.environment_state(ENVIRONMENT))
    key_body = credentials.ssh_private_key_file.read_text().splitlines()[2]
    secrets = [key_body, credentials.api_key_file.read_text().strip()]
    folders = [project.state / "backend", project.state / "pulumi", project.state / "config"]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert any(path.name == f"{ENVIRONMENT}.json" for path in files)
    for path in files:
        text = path.read_text(errors="replace")
        assert not [secret for secret in secrets if secret in text], path


def test_destroy_leaves_nothing(workspace, project):
    assert workspace.destroy(ignore) == {**UNCHANGED, "delete": 8, "same": 0}
    assert containers() == {}
    assert Podman().find_network(f"warmfleet-{ENVIRONMENT}") is None
    left = [p for p in (project.state / "backend").rglob("*") if ENVIRONMENT in p.name]
    assert left == []
    assert list((project.state / "config").glob("*")) == []
    assert workspace.fleet() is None
    assert workspace.destroy(ignore) == {}
