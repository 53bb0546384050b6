import hashlib
import time
from collections.abc import Callable

import pytest
from testinfra.host import Host

KEY = "wf-canary-key"
CHAT = ("/v1/chat/completions", KEY, '{"model": "chat"}')


def test_unit_runs_now_and_at_boot(host: Host) -> None:
    unit = host.service("nginx")
    assert unit.is_enabled
    assert unit.is_running
    properties = unit.systemd_properties
    assert properties["ProtectSystem"] == "strict"
    assert properties["NoNewPrivileges"] == "yes"
    assert properties["Restart"] == "on-failure"
    # The gateway is tried for ever, and a stop lets the longest request end.
    assert properties["StartLimitIntervalUSec"] == "0"
    assert properties["RestartUSec"] == "5s"
    assert properties["TimeoutStopUSec"] == "6min 30s"


def test_https_alone_is_served(host: Host) -> None:
    assert host.socket("tcp://0.0.0.0:443").is_listening
    assert not host.socket("tcp://80").is_listening
    assert host.socket("tcp://127.0.0.1:9180").is_listening


def test_no_process_is_root(host: Host) -> None:
    processes = host.process.filter(comm="nginx")
    assert len(processes) > 1
    assert {item.user for item in processes} == {"www-data"}


def test_exposure_is_bounded(exposure: Callable[[str], float]) -> None:
    assert exposure("nginx.service") <= 2.0


def test_no_core_can_be_written(host: Host) -> None:
    process = host.service("nginx").systemd_properties["MainPID"]
    limits = host.check_output(f"cat /proc/{process}/limits").splitlines()
    assert [line.split()[4:6] for line in limits if line.startswith("Max core")] == [["0", "0"]]


def test_logs_are_rotated_by_the_packages_own_script(host: Host, ask) -> None:
    log = "/var/log/nginx/access.log"
    host.check_output(f"mv {log} {log}.1 && install -o www-data -g adm -m 0640 /dev/null {log}")
    host.check_output("invoke-rc.d nginx rotate")
    assert ask("/v1/models", "wrong")[0] == 401
    host.check_output(f"timeout 5 sh -c 'until grep -q 401 {log}; do sleep 0.1; done'")


def test_it_starts_after_a_trial_by_root_and_without_its_logs(host: Host, ask) -> None:
    host.check_output("systemctl stop nginx")
    host.check_output("rm -f /var/log/nginx/access.log && nginx -t -q && systemctl start nginx")
    log = host.file("/var/log/nginx/access.log")
    assert (log.user, log.group, log.mode) == ("www-data", "adm", 0o640)
    assert host.file("/var/log/nginx").user == "root"
    host.check_output("timeout 5 sh -c 'until ss -Hltn | grep -q :443; do sleep 0.1; done'")
    assert ask("/v1/models", "wrong")[0] == 401


@pytest.mark.parametrize("root", ["/etc/nginx/warmfleet", "/etc/nginx/warmfleet.staged"])
def test_secrets_are_for_nginx_alone(host: Host, root: str) -> None:
    for name in ("server.key", "client.key"):
        key = host.file(f"{root}/tls/{name}")
        assert (key.user, key.group, key.mode) == ("root", "www-data", 0o640)
    assert host.file(f"{root}/tls").mode == 0o750
    digests = host.file(f"{root}/api_keys.json")
    assert (digests.user, digests.group, digests.mode) == ("root", "www-data", 0o640)
    assert KEY not in digests.content_string


def test_no_secret_can_be_read_by_others(host: Host) -> None:
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    grep = f"grep -lsE 'BEGIN [A-Z ]*PRIVATE KEY|{digest}'"
    search = f"find /etc /run /srv /var -xdev -type f -exec {grep} {{}} +"
    assert "/etc/nginx/warmfleet/tls/server.key" in host.run(search).stdout
    assert host.run(f"runuser -u nobody -- {search}").stdout == ""


def test_nginx_itself_sees_the_settings(host: Host) -> None:
    config = host.check_output("nginx -T")
    for line in (
        "proxy_read_timeout 330000ms;",
        "proxy_connect_timeout 2000ms;",
        "keepalive_timeout 60000ms;",
        "keepalive_timeout 75000ms;",
        "worker_shutdown_timeout 370000ms;",
        "client_max_body_size 4194304;",
        "proxy_buffering off;",
        "server_tokens off;",
        "ssl_protocols TLSv1.2 TLSv1.3;",
        "proxy_ssl_verify on;",
    ):
        assert line in config


def test_request_reaches_a_replica_and_the_key_does_not(ask) -> None:
    status, answer = ask(*CHAT)
    assert status == 200
    assert answer["replica"] in ("fake-1", "fake-2")
    assert answer["key_seen"] is False


def test_wrong_key_and_unknown_path(ask) -> None:
    assert ask("/v1/models", "wrong")[1]["error"]["code"] == "invalid_api_key"
    assert ask("/v1/models")[0] == 401
    assert ask("/metrics", KEY)[1]["error"]["code"] == "not_found"


def test_cold_replica_gets_nothing(host: Host, ask) -> None:
    host.check_output("touch /run/fake-fake-1.cold")
    try:
        time.sleep(1.5)
        assert {ask(*CHAT)[1]["replica"] for _ in range(6)} == {"fake-2"}
        assert ask("/healthz") == (200, {"status": "ready"})
    finally:
        host.check_output("rm /run/fake-fake-1.cold")
    time.sleep(1.5)
    assert {ask(*CHAT)[1]["replica"] for _ in range(6)} == {"fake-1", "fake-2"}


def test_log_has_no_key(host: Host) -> None:
    assert '"key":"molecule"' in host.file("/var/log/nginx/access.log").content_string
    assert host.run("grep -rq %s /var/log/nginx", KEY).rc == 1
