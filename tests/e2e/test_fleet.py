"""One fleet's whole life, in order: up, asked, disturbed, repaired, down.

Each test starts from the state that the one before it left, as an operator's day does.
"""

import json
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.e2e.conftest import ENVIRONMENT, Fleet

pytestmark = [
    pytest.mark.machine,
    pytest.mark.engine,
    pytest.mark.timeout(900),
    pytest.mark.enable_socket,
]
REPLICAS = ["replica-1", "replica-2"]
KNOCK = """
import socket, ssl, sys
address, port, how = sys.argv[1:]
connection = socket.create_connection((address, int(port)), 5)
print("connected")
if how == "tls":
    connection = ssl._create_unverified_context().wrap_socket(connection)
connection.sendall(b"GET /readyz HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n")
print(connection.recv(100))
"""


@pytest.fixture
def client(first_up: Any) -> Iterator[openai.OpenAI]:
    key = Path(first_up["status"]["api_key_file"]).read_text()
    with _client(first_up["status"], key) as client:
        yield client


def _client(status: Any, key: str) -> openai.OpenAI:
    # No retries: a request that the fleet lost must be seen as lost.
    return openai.OpenAI(
        base_url=f"{status['endpoint']}/v1",
        api_key=key.strip(),
        max_retries=0,
        http_client=openai.DefaultHttpxClient(
            verify=ssl.create_default_context(cafile=status["ca_file"]), timeout=120
        ),
    )


def _ask(client: openai.OpenAI, text: str, tokens: int = 16) -> str:
    answer = client.chat.completions.create(
        model="chat", messages=[{"role": "user", "content": text}], max_tokens=tokens
    )
    return answer.choices[0].message.content or ""


def test_up_ends_with_a_warm_endpoint_that_answers(first_up: Any) -> None:
    assert first_up["answer"].strip()
    assert [r["host"] for r in first_up["status"]["replicas"]] == REPLICAS
    assert {r["state"] for r in first_up["status"]["replicas"]} == {"ready"}
    assert {first["replica"] for first in first_up["first_requests"]} == set(REPLICAS)


def test_the_ledger_of_each_replica_accounts_for_its_whole_start(first_up: Any) -> None:
    for replica in first_up["status"]["replicas"]:
        ledger = replica["coldstart"]
        names = [phase["name"] for phase in ledger["phases"]]
        assert names[:6] == [
            "process_start",
            "imports",
            "engine_start",
            "weights",
            "engine_init",
            "first_forward",
        ]
        assert names[-1] == "ready"
        assert names.count("warmup") >= 2
        weights = ledger["phases"][3]["detail"]
        assert weights["bytes"] == 98362432
        assert weights["gb_per_s"] > 0
        parts = sum(phase["duration_s"] for phase in ledger["phases"])
        assert parts == pytest.approx(ledger["total_s"], rel=0.05)


def test_up_again_changes_nothing_and_is_quick(fleet: Fleet, first_up: Any) -> None:
    began = time.monotonic()
    again = fleet.warmfleet("up", ENVIRONMENT)
    elapsed = time.monotonic() - began
    assert {kind: n for kind, n in again["resources"].items() if n and kind != "same"} == {}
    assert again["resources"]["same"] > 0
    assert again["changed_tasks"] == []
    assert again["tasks"]["changed"] == 0
    assert again["tasks"]["ok"] > 0
    assert elapsed <= 120
    started = [r["coldstart"]["started_at"] for r in first_up["status"]["replicas"]]
    assert [r["coldstart"]["started_at"] for r in again["status"]["replicas"]] == started
    assert again["first_requests"] == []


def test_status_says_what_scripts_rely_on(fleet: Fleet, first_up: Any) -> None:
    status = fleet.warmfleet("status", ENVIRONMENT)
    assert {"endpoint", "ca_file", "api_key_file", "hosts", "replicas"} <= status.keys()
    assert [host["name"] for host in status["hosts"]] == ["gw-1", *REPLICAS]
    for replica in status["replicas"]:
        assert {"host", "model", "state", "revision", "coldstart"} <= replica.keys()
    assert status == {**status, "endpoint": first_up["status"]["endpoint"]}


def test_the_openai_client_gets_whole_and_streamed_answers(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["chat"]
    answer = client.chat.completions.create(
        model="chat", messages=[{"role": "user", "content": "Say hello."}], max_tokens=12
    )
    assert answer.choices[0].message.content
    assert answer.model == "chat"
    assert answer.usage is not None
    assert answer.usage.completion_tokens <= 12
    stream = client.chat.completions.create(
        model="chat",
        messages=[{"role": "user", "content": "Count to five."}],
        max_tokens=24,
        stream=True,
    )
    pieces = [
        chunk.choices[0].delta.content
        for chunk in stream
        if chunk.choices and chunk.choices[0].delta.content
    ]
    assert len(pieces) > 3


def test_a_wrong_key_and_an_unknown_model_are_told_so(client: openai.OpenAI, first_up: Any) -> None:
    with (
        _client(first_up["status"], "wf-wrong") as stranger,
        pytest.raises(openai.AuthenticationError),
    ):
        _ask(stranger, "hello")
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(
            model="nobody", messages=[{"role": "user", "content": "hello"}]
        )


@pytest.mark.parametrize("how", ["plain", "tls"])
def test_replicas_answer_nobody_without_the_gateways_certificate(
    fleet: Fleet, first_up: Any, how: str
) -> None:
    addresses = [
        host["private_address"] for host in first_up["status"]["hosts"] if host["name"] in REPLICAS
    ]
    for address in addresses:
        for port in ("8000", "9100"):
            said = fleet.inside("gw-1", "python3", "-c", KNOCK, address, port, how, check=False)
            # It was reached, and did not say a word.
            assert said.replace("b''", "").split() == ["connected"], (address, port)


def test_the_plain_ansible_commands_work(fleet: Fleet, first_up: Any) -> None:
    assert first_up
    listed = fleet.run("ansible-inventory", "--list")
    assert listed.returncode == 0, listed.stderr
    hosts = json.loads(listed.stdout)["_meta"]["hostvars"]
    assert sorted(hosts) == ["gw-1", *REPLICAS]
    pinged = fleet.run("ansible", "all", "-m", "ansible.builtin.ping", "-o")
    assert pinged.returncode == 0, pinged.stdout + pinged.stderr
    checked = fleet.run("ansible-playbook", "roles/site.yml", "--check", "--diff")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert checked.stdout.count("changed=0") == 3, checked.stdout


def test_the_plain_pulumi_commands_work(fleet: Fleet, first_up: Any) -> None:
    assert first_up
    preview = fleet.pulumi("preview", "--diff")
    assert preview.returncode == 0, preview.stdout + preview.stderr
    assert "unchanged" in preview.stdout


def test_restarting_a_replica_under_load_fails_no_request(
    fleet: Fleet, client: openai.OpenAI
) -> None:
    stop = threading.Event()
    answers: list[str] = []
    failures: list[str] = []

    def load() -> None:
        n = 0
        while not stop.is_set():
            n += 1
            try:
                answers.append(_ask(client, f"{threading.get_ident()} {n}: say hello."))
            except openai.OpenAIError as error:
                failures.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=load) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        before = len(answers)
        fleet.inside("replica-1", "systemctl", "restart", "warmfleet-inference@chat.service")
        during = len(answers) - before
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []
    assert during > 0, "no request was answered during the restart: nothing was shown"


def test_a_replica_is_warm_again_by_itself_after_a_reboot(fleet: Fleet) -> None:
    assert fleet.run("podman", "restart", fleet.container("replica-1"), limit_s=180).returncode == 0
    _wait_ready(fleet)


def test_refresh_finds_a_stopped_host_and_up_repairs_it(
    fleet: Fleet, client: openai.OpenAI
) -> None:
    assert fleet.run("podman", "stop", fleet.container("replica-2"), limit_s=180).returncode == 0
    status = fleet.warmfleet("status", ENVIRONMENT)
    states = {replica["host"]: replica["state"] for replica in status["replicas"]}
    assert states == {"replica-1": "ready", "replica-2": "unreachable"}
    assert _ask(client, "Is anybody there?")  # the other replica answers meanwhile
    refreshed = fleet.pulumi("refresh", "--yes")
    assert refreshed.returncode == 0, refreshed.stdout + refreshed.stderr
    assert "updated" in refreshed.stdout, refreshed.stdout
    repaired = fleet.warmfleet("up", ENVIRONMENT)
    assert repaired["resources"]["update"] == 1
    assert {r["state"] for r in repaired["status"]["replicas"]} == {"ready"}


def test_an_unreachable_host_is_one_clear_line(fleet: Fleet, first_up: Any) -> None:
    assert first_up
    fleet.inside("replica-2", "systemctl", "stop", "ssh.service", "ssh.socket", check=False)
    # Connections that Ansible keeps open would outlive the server that took them.
    fleet.inside("replica-2", "pkill", "-x", "sshd", check=False)
    try:
        failed = fleet.run("warmfleet", "converge", ENVIRONMENT)
        assert failed.returncode == 1
        last = failed.stderr.strip().splitlines()[-1]
        assert last.startswith("error: ")
        assert "replica-2" in last
        assert "127.0.0.1:2312" in last
        assert "Traceback" not in failed.stderr
    finally:
        fleet.inside("replica-2", "systemctl", "start", "ssh.service")


def test_no_secret_is_in_state_inventory_logs_or_arguments(fleet: Fleet, first_up: Any) -> None:
    key = Path(first_up["status"]["api_key_file"]).read_text().strip()
    secrets_folder = Path(first_up["status"]["api_key_file"]).parent
    state = fleet.project / ".warmfleet"
    searched = 0
    for path in state.rglob("*"):
        inside_shared = any(part in ("wheelhouse", "weights") for part in path.parts)
        if inside_shared or path.is_relative_to(secrets_folder) or not path.is_file():
            continue
        searched += 1
        content = path.read_bytes()
        assert key.encode() not in content, path
        if path.name != "id_ed25519":
            assert b"PRIVATE KEY" not in content, path
    assert searched > 5
    assert key not in fleet.run("ansible-inventory", "--list").stdout
    for host in ("gw-1", *REPLICAS):
        for command in (["ps", "axww"], ["journalctl", "--no-pager"]):
            assert key not in fleet.inside(host, *command), host
        grep = ["grep", "-rlF", key, "/etc", "/opt/warmfleet", "/var/lib", "/var/log", "/run"]
        assert fleet.inside(host, *grep, check=False) == "", host


def test_down_leaves_nothing_but_logs(fleet: Fleet, first_up: Any) -> None:
    assert first_up
    fleet.warmfleet("down", ENVIRONMENT)
    label = f"label=warmfleet.environment={ENVIRONMENT}"
    assert fleet.run("podman", "ps", "-aq", "--filter", label).stdout == ""
    networks = fleet.run("podman", "network", "ls", "--format", "{{.Name}}").stdout.split()
    assert f"warmfleet-{ENVIRONMENT}" not in networks
    left = sorted(path.name for path in (fleet.project / ".warmfleet" / ENVIRONMENT).iterdir())
    assert left == ["logs"]
    gone = fleet.run("warmfleet", "status", ENVIRONMENT)
    assert gone.returncode == 1
    assert gone.stderr.splitlines()[-1] == (
        f"error: environment '{ENVIRONMENT}' is not up; run `warmfleet up {ENVIRONMENT}`"
    )


def _wait_ready(fleet: Fleet, limit_s: float = 120) -> None:
    deadline = time.monotonic() + limit_s
    while True:
        status = fleet.warmfleet("status", ENVIRONMENT)
        if all(replica["state"] == "ready" for replica in status["replicas"]):
            return
        assert time.monotonic() < deadline, status
        time.sleep(1)
