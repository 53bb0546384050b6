import json

import pytest
from testinfra.host import Host

UNIT = "warmfleet-inference@chat.service"


def _admin(host: Host, path: str) -> tuple[int, dict[str, object]]:
    script = (
        "import json, sys, urllib.request\n"
        "try: answer = urllib.request.urlopen(sys.argv[1])\n"
        "except urllib.error.HTTPError as error: answer = error\n"
        "print(json.dumps([answer.status, json.load(answer)]))"
    )
    url = f"http://127.0.0.1:9100{path}"
    status, body = json.loads(host.check_output("python3 -c %s %s", script, url))
    return status, body


@pytest.fixture(scope="module")
def properties(host: Host) -> dict[str, str]:
    return host.service(UNIT).systemd_properties


def test_the_unit_is_active_because_the_service_is_ready(host: Host) -> None:
    service = host.service(UNIT)
    assert service.is_running
    assert service.is_enabled
    assert service.systemd_properties["Type"] == "notify"
    status, body = _admin(host, "/readyz")
    assert (status, body["state"]) == (200, "ready")


def test_traffic_and_admin_ports_are_bound_where_the_settings_say(host: Host) -> None:
    assert host.socket("tcp://127.0.0.1:8000").is_listening
    assert host.socket("tcp://127.0.0.1:9100").is_listening
    assert not host.socket("tcp://0.0.0.0:8000").is_listening


def test_the_ledger_of_this_start_is_on_disk(host: Host) -> None:
    _, ledger = _admin(host, "/coldstart")
    assert ledger["revision"] == "first"
    assert ledger["failure"] is None
    assert host.file("/var/lib/warmfleet/chat/ledger").is_directory
    assert host.check_output("ls /var/lib/warmfleet/chat/ledger")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("User", "warmfleet"),
        ("NoNewPrivileges", "yes"),
        ("ProtectSystem", "strict"),
        ("ProtectHome", "yes"),
        ("ProtectProc", "invisible"),
        ("PrivateTmp", "yes"),
        ("PrivateDevices", "yes"),
        ("ProtectKernelTunables", "yes"),
        ("ProtectKernelModules", "yes"),
        ("ProtectKernelLogs", "yes"),
        ("ProtectControlGroups", "yes"),
        ("MemoryDenyWriteExecute", "yes"),
        ("RestrictSUIDSGID", "yes"),
        ("UMask", "0077"),
        ("KillMode", "mixed"),
        ("Restart", "on-failure"),
        ("RestartUSec", "15s"),
        ("TimeoutStartUSec", "1min"),
        ("TimeoutStopUSec", "15s"),
    ],
)
def test_the_sandbox_is_in_force(properties: dict[str, str], name: str, value: str) -> None:
    assert properties[name] == value


def test_the_process_itself_is_confined(host: Host) -> None:
    process = host.service(UNIT).systemd_properties["MainPID"]
    status = dict(
        line.split(":\t", 1)
        for line in host.check_output(f"cat /proc/{process}/status").splitlines()
        if ":\t" in line
    )
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert int(status["CapBnd"], 16) == 0
    assert status["Uid"].split()[0] == host.check_output("id --user warmfleet")


def test_settings_are_for_the_group_alone(host: Host) -> None:
    settings = host.file("/etc/warmfleet/inference/chat.json")
    assert (settings.user, settings.group, settings.mode) == ("root", "warmfleet", 0o640)


def test_the_user_can_log_in_nowhere(host: Host) -> None:
    user = host.user("warmfleet")
    assert user.shell == "/usr/sbin/nologin"
    assert user.uid < 1000


def test_the_release_is_complete_and_its_wheels_are_gone(host: Host) -> None:
    release = host.check_output("ls /opt/warmfleet/releases").split()
    assert len(release) == 1
    assert host.file(f"/opt/warmfleet/releases/{release[0]}/.complete").exists
    assert not host.file(f"/opt/warmfleet/releases/{release[0]}/.wheels").exists


def test_a_crash_is_followed_by_a_start(host: Host) -> None:
    before = host.service(UNIT).systemd_properties["MainPID"]
    host.check_output(f"kill -KILL {before}")
    wait = (
        f"for i in $(seq 600); do systemctl is-active --quiet {UNIT} && "
        f'[ "$(systemctl show -p MainPID --value {UNIT})" != {before} ] && exit 0; '
        "sleep 0.1; done; exit 1"
    )
    assert host.run(wait).succeeded
    status, _ = _admin(host, "/readyz")
    assert status == 200
