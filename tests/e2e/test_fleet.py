"""One fleet's whole life, in order: up, asked, disturbed, repaired, down.

Each test starts from the state that the one before it left, as an operator's day does.
"""

import itertools
import json
import os
import signal
import ssl
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from tests.e2e.background import Background
from tests.e2e.conftest import ENVIRONMENT, ROOT, Fleet
from tests.e2e.secret_scan import ProcessWatch, Secrets

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
    left = "/root/.ansible/tmp/left-by-a-killed-run"
    fleet.inside("replica-1", "sh", "-c", f"mkdir {left} && touch -d '2 hours ago' {left}")
    began = time.monotonic()
    again = fleet.warmfleet("up", ENVIRONMENT)
    elapsed = time.monotonic() - began
    fleet.inside("replica-1", "test", "!", "-e", left)
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


class Load(Background):
    """Clients that do not try again, in the background for as long as the block lasts."""

    def __init__(self, client: openai.OpenAI, clients: int = 2, pause_s: float = 0) -> None:
        self.answers: list[str] = []
        self.failures: list[str] = []
        self._client, self._number = client, itertools.count(1)
        super().__init__(*[self._ask_once] * clients, pause_s=pause_s)

    def _ask_once(self) -> None:
        try:
            text = f"{next(self._number)}: say hello."
            self.answers.append(_ask(self._client, text))
        except openai.OpenAIError as error:
            self.failures.append(f"{type(error).__name__}: {error}")


def test_a_drained_host_gets_nothing_and_no_request_is_lost(
    fleet: Fleet, client: openai.OpenAI
) -> None:
    with Load(client, clients=3) as load:
        drained = fleet.warmfleet("drain", ENVIRONMENT, "replica-1")
        assert (drained["drained"], drained["changed"]) == (True, True)
        before = _served_by(fleet, "replica-1")
        refused = fleet.run("warmfleet", "drain", ENVIRONMENT, "replica-2")
        assert refused.returncode == 4
        assert refused.stderr.splitlines()[-1] == (
            "error: no ready replicas of chat would serve without replica-2; needed: 1 "
            "(updates.floor in the spec); do first: warmfleet undrain e2e replica-1"
        )
        again = fleet.warmfleet("drain", ENVIRONMENT, "replica-1")
        assert (again["changed"], again["since"]) == (False, drained["since"])
        states = fleet.warmfleet("status", ENVIRONMENT)["replicas"]
        assert [(r["state"], r["drained"]) for r in states] == [("ready", True), ("ready", False)]
        assert _served_by(fleet, "replica-1") == before, "a drained replica got a request"
        answered = len(load.answers)
        given = fleet.warmfleet("undrain", ENVIRONMENT, "replica-1")
        assert (given["changed"], given["serving"]) == (True, True)
        deadline = time.monotonic() + 60  # of a busy machine: a request takes seconds there
        while _served_by(fleet, "replica-1") == before:
            assert time.monotonic() < deadline, "a replica that was given back got no request"
            time.sleep(0.5)
    assert load.failures == []
    assert answered > 0


def test_logs_and_ssh_reach_a_host(fleet: Fleet, first_up: Any) -> None:
    lines = fleet.run("warmfleet", "logs", ENVIRONMENT, "replica-1", "-n", "40").stdout
    assert "event=state state=ready" in lines
    told = fleet.run("warmfleet", "logs", ENVIRONMENT, "gw-1", "--unit=access", "-n1", "--json")
    entry = json.loads(told.stdout)
    assert json.loads(entry["line"])["status"] == 200, entry
    follow = ["warmfleet", "logs", ENVIRONMENT, "gw-1", "--unit=access", "--follow"]
    process = subprocess.Popen(follow, env=fleet.variables, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process:
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)  # as Ctrl-C
        assert process.wait(30) == 0
    done = fleet.run("warmfleet", "ssh", ENVIRONMENT, "gw-1", "--", "hostname; exit 7")
    assert (done.stdout, done.returncode) == ("gw-1\n", 7), done.stderr
    left = fleet.run("warmfleet", "ssh", ENVIRONMENT, "gw-1", "--", "pgrep", "-x", "tail")
    assert left.stdout == "", "the host still follows its log for nobody"
    assert first_up


def test_a_restart_by_an_operator_is_noticed_by_nobody(fleet: Fleet, client: openai.OpenAI) -> None:
    # Not as fast as they can: on two cores a busy replica keeps the other one from getting warm.
    with Load(client, clients=1, pause_s=0.5) as load:
        restarted = fleet.warmfleet("restart", ENVIRONMENT, "replica-1")
    assert load.failures == []
    assert load.answers
    assert list(restarted["warm_after_s"]) == ["chat"]
    assert restarted["answer"]["replica"] == "replica-1"
    assert restarted["drained"] is False


def test_a_host_is_replaced_under_the_floor(fleet: Fleet, client: openai.OpenAI) -> None:
    asked = fleet.run("warmfleet", "replace", ENVIRONMENT, "replica-2")
    assert asked.returncode == 2
    assert "needed: --yes, or a terminal" in asked.stderr
    container = fleet.container("replica-2")
    wanted = ("podman", "inspect", "--format", "{{.Id}}", container)
    before = fleet.run(*wanted).stdout
    with Load(client, clients=1, pause_s=0.5) as load:
        replaced = fleet.warmfleet("replace", ENVIRONMENT, "replica-2", "--yes")
    assert load.failures == []
    assert load.answers
    assert fleet.run(*wanted).stdout != before
    assert (replaced["resources"]["replace"], replaced["resources"]["create"]) == (1, 0)
    assert replaced["answer"]["replica"] == "replica-2"


def test_restarting_a_replica_under_load_fails_no_request(
    fleet: Fleet, client: openai.OpenAI
) -> None:
    with Load(client) as load:
        before = len(load.answers)
        fleet.inside("replica-1", "systemctl", "restart", "warmfleet-inference@chat.service")
        during = len(load.answers) - before
    assert load.failures == []
    assert during > 0, "no request was answered during the restart: nothing was shown"


def test_a_replica_is_warm_again_by_itself_after_a_reboot(fleet: Fleet) -> None:
    assert fleet.run("podman", "restart", fleet.container("replica-1"), limit_s=180).returncode == 0
    _wait_ready(fleet)
    assert "policy drop" in fleet.inside("replica-1", "nft", "list", "table", "inet", "warmfleet")


def test_refresh_finds_a_stopped_host_and_up_repairs_it(
    fleet: Fleet, client: openai.OpenAI
) -> None:
    # One byte of a tensor, where nothing but its hash would ever show it.
    damage = "printf x | dd of=$(ls /srv/warmfleet/models/chat/current/*.gguf) bs=1 conv=notrunc"
    fleet.inside("replica-2", "sh", "-c", f"{damage} seek=60000000")
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
    assert any("weights" in task for task in repaired["changed_tasks"])
    _assert_damaged_weights_were_never_loaded(fleet)


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


def test_no_process_was_shown_a_secret_while_the_fleet_came_up(
    first_up: Any, watch: ProcessWatch
) -> None:
    assert first_up
    assert watch.leaks == set()
    seen = {"warmfleet", "pulumi", "ansible-playboo", "sshd", "nginx", "python"}
    assert seen <= watch.processes, "too few processes were seen to tell"


def test_no_secret_is_in_what_is_said_or_kept_on_this_machine(
    fleet: Fleet, first_up: Any, secrets: Secrets
) -> None:
    assert first_up
    for command in (("stack", "export"), ("stack", "output", "--json"), ("config",)):
        assert fleet.pulumi(*command).returncode == 0
    fleet.run("ansible-inventory", "--list")
    fleet.run("warmfleet", "-v", "status", ENVIRONMENT)
    fleet.run("warmfleet", "env", "--json")
    assert sum(map(len, fleet.said)) > 20_000
    assert secrets.found_in("\n".join(fleet.said).encode()) == set()

    own = {path for path in fleet.state.rglob("*") if _keeps_secrets(path.relative_to(fleet.state))}
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in own} == {0}
    shared = {"wheelhouse", "weights"}
    ansible, stages = Path.home() / ".ansible", ROOT / ".cache/logs"
    found = secrets.found_below(fleet.state, ansible, stages, skip=shared)
    assert {path: names for path, names in found.items() if path not in own} == {}
    assert set(found), "what is kept was not found: nothing was shown"


@pytest.mark.parametrize("host", ["gw-1", *REPLICAS])
def test_a_host_holds_only_the_secrets_that_it_needs(
    fleet: Fleet, first_up: Any, secrets: Secrets, host: str
) -> None:
    assert first_up
    journal = fleet.inside(host, "journalctl", "--no-pager", "--output=json", "--all")
    assert len(journal) > 10_000
    assert secrets.found_in(journal.encode()) == set()

    root = fleet.root(host)
    folders = ("etc", "home", "opt/warmfleet", "root", "run", "srv", "tmp", "var")
    skip = {".gguf", ".py", ".pyc", ".so", ".deb", "journal", "dpkg"}
    found = secrets.found_below(*(root / folder for folder in folders), skip=skip)
    needed = {"secrets/server.key", "secrets/fleet/client.key"} if host == "gw-1" else set()
    needed |= {f"secrets/fleet/replicas/{host}.key"}
    for path, names in found.items():
        assert names <= needed, path
        assert stat.S_IMODE(path.stat().st_mode) & 0o007 == 0, path
    if host == "gw-1":
        assert "secrets/server.key" in set().union(*found.values()), "what is there was not found"

    limits = fleet.inside(
        host, "sh", "-c", "grep -h core /proc/$(pgrep -o 'nginx|python')/limits", check=False
    )
    assert limits.split()[-3:-1] == ["0", "0"], "a crash would write memory, and keys, to the disk"


def _assert_damaged_weights_were_never_loaded(fleet: Fleet) -> None:
    unit = "--unit=warmfleet-inference@chat.service"
    journal = fleet.inside("replica-2", "journalctl", "--boot", "--output=json", unit)
    entries = [json.loads(line) for line in journal.splitlines()]
    refused = [
        int(entry["__MONOTONIC_TIMESTAMP"]) / 1e6
        for entry in entries
        if "as deployed" in entry["MESSAGE"] and "level=ERROR" in entry["MESSAGE"]
    ]
    assert refused
    gaps = [after - before for before, after in itertools.pairwise(refused)]
    assert all(gap > 14 for gap in gaps), "faster than the delay between two starts"


def _keeps_secrets(path: Path) -> bool:
    """Tell whether a path below .warmfleet is where private values are kept."""
    folders = {(ENVIRONMENT, "secrets"), (ENVIRONMENT, "ssh"), ("passphrase",)}
    return any(path.parts[: len(folder)] == folder for folder in folders)


def test_down_leaves_nothing_but_logs(fleet: Fleet, first_up: Any) -> None:
    assert first_up
    # As a converge that was killed leaves its Ansible: waiting for hosts that are about to go.
    artifacts = fleet.project / ".warmfleet" / ENVIRONMENT / "runner/last/artifacts/run"
    mark = {"AWX_ISOLATED_DATA_DIR": str(artifacts)}
    left_run = subprocess.Popen(["sleep", "600"], env=os.environ | mark)
    fleet.warmfleet("down", ENVIRONMENT)
    assert left_run.wait(timeout=5) == -signal.SIGTERM
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


def _served_by(fleet: Fleet, host: str) -> int:
    """Return how many requests a replica has answered, as it counts itself."""
    journal = fleet.inside(host, "journalctl", "-u", "warmfleet-inference@chat", "-o", "cat")
    return journal.count("event=request") - journal.count("event=request id=warm-up")


def _wait_ready(fleet: Fleet, limit_s: float = 120) -> None:
    deadline = time.monotonic() + limit_s
    while True:
        status = fleet.warmfleet("status", ENVIRONMENT)
        if all(replica["state"] == "ready" for replica in status["replicas"]):
            return
        assert time.monotonic() < deadline, status
        time.sleep(1)
