from collections.abc import Callable

import pytest
from testinfra.host import Host

UNIT = "warmfleet-inference@chat.service"


@pytest.fixture(scope="module")
def properties(host: Host) -> dict[str, str]:
    return host.service(UNIT).systemd_properties


def test_the_unit_is_active_because_the_service_is_ready(host: Host, admin) -> None:
    service = host.service(UNIT)
    assert service.is_running
    assert service.is_enabled
    assert service.systemd_properties["Type"] == "notify"
    status, body = admin("/readyz")
    assert (status, body["state"]) == (200, "ready")


def test_traffic_and_admin_ports_are_bound_where_the_settings_say(host: Host) -> None:
    assert host.socket("tcp://127.0.0.1:8000").is_listening
    assert host.socket("tcp://127.0.0.1:9100").is_listening
    assert not host.socket("tcp://0.0.0.0:8000").is_listening


def test_the_ledger_of_this_start_is_on_disk(host: Host, admin) -> None:
    _, ledger = admin("/coldstart")
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
        ("LimitCORE", "0"),
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


def test_exposure_is_bounded(exposure: Callable[[str], float]) -> None:
    assert exposure(UNIT) <= 2.0


def test_the_engine_is_confined_more_than_the_service(host: Host) -> None:
    service = host.service(UNIT).systemd_properties["MainPID"]
    filters = "awk '/^Seccomp_filters/ {print $2}' /proc/%s/status"
    assert int(host.check_output(filters, _engine(host))) == 1 + int(
        host.check_output(filters, service)
    )


def test_nobody_but_the_service_reaches_the_engine(host: Host) -> None:
    found = host.check_output("find /run/warmfleet/chat -type s").split()
    assert len(found) == 1, found
    script = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    assert host.run("python3 -c %s %s", script, found[0]).succeeded
    other = host.run("runuser -u nobody -- python3 -c %s %s", script, found[0])
    assert "PermissionError" in other.stderr
    listening = host.check_output("ss -Hltnup")
    assert f"pid={_engine(host)}," not in listening, listening


def test_no_file_of_the_role_is_for_others(host: Host) -> None:
    search = "find /etc/warmfleet /var/lib/warmfleet /run/warmfleet -type f -readable"
    assert "/etc/warmfleet/inference/chat.json" in host.check_output(search).split()
    assert host.run(f"runuser -u nobody -- {search}").stdout == ""


def _engine(host: Host) -> str:
    service = host.service(UNIT).systemd_properties["MainPID"]
    return host.check_output("pgrep --parent %s", service)


def test_settings_are_for_the_group_alone(host: Host) -> None:
    settings = host.file("/etc/warmfleet/inference/chat.json")
    assert (settings.user, settings.group, settings.mode) == ("root", "warmfleet", 0o640)


def test_the_key_is_for_the_group_alone(host: Host) -> None:
    folder = "/etc/warmfleet/inference/tls"
    assert (host.file(folder).group, host.file(folder).mode) == ("warmfleet", 0o750)
    for name in ("replica.pem", "replica.key", "client_ca.pem"):
        file = host.file(f"{folder}/{name}")
        assert (file.user, file.group, file.mode) == ("root", "warmfleet", 0o640)


def test_nobody_is_answered_without_the_certificate_of_a_gateway(host: Host) -> None:
    for port, path in ((8000, "/v1/models"), (9100, "/readyz")):
        for scheme in ("http", "https"):
            script = (
                "import ssl, sys, urllib.request as u; "
                "print(u.urlopen(sys.argv[1], context=ssl._create_unverified_context()).status)"
            )
            answer = host.run("python3 -c %s %s", script, f"{scheme}://127.0.0.1:{port}{path}")
            assert answer.failed
            assert answer.stdout == ""


def test_the_user_can_log_in_nowhere(host: Host) -> None:
    user = host.user("warmfleet")
    assert user.shell == "/usr/sbin/nologin"
    assert user.uid < 1000


def test_the_release_is_complete_and_its_wheels_are_gone(host: Host) -> None:
    release = host.check_output("ls /opt/warmfleet/releases").split()
    assert len(release) == 1
    assert host.file(f"/opt/warmfleet/releases/{release[0]}/.complete").exists
    assert not host.file(f"/opt/warmfleet/releases/{release[0]}/.wheels").exists


def test_a_crash_is_followed_by_a_start(host: Host, admin) -> None:
    before = host.service(UNIT).systemd_properties["MainPID"]
    host.check_output(f"kill -KILL {before}")
    wait = (
        f"for i in $(seq 600); do systemctl is-active --quiet {UNIT} && "
        f'[ "$(systemctl show -p MainPID --value {UNIT})" != {before} ] && exit 0; '
        "sleep 0.1; done; exit 1"
    )
    assert host.run(wait).succeeded
    status, _ = admin("/readyz")
    assert status == 200
