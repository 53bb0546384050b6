import time

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


def test_workers_are_not_root(host: Host) -> None:
    workers = [item for item in host.process.filter(comm="nginx") if "worker" in item.args]
    assert workers
    assert {item.user for item in workers} == {"www-data"}


@pytest.mark.parametrize("root", ["/etc/nginx/warmfleet", "/etc/nginx/warmfleet.staged"])
def test_secrets_are_for_root_alone(host: Host, root: str) -> None:
    for name in ("server.key", "client.key"):
        key = host.file(f"{root}/tls/{name}")
        assert (key.user, key.group, key.mode) == ("root", "root", 0o600)
    assert host.file(f"{root}/tls").mode == 0o700
    digests = host.file(f"{root}/api_keys.json")
    assert (digests.user, digests.group, digests.mode) == ("root", "www-data", 0o640)
    assert KEY not in digests.content_string


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
