from testinfra.host import Host

KEY = "wf-next-key"


def test_only_the_other_address_is_served(host: Host) -> None:
    assert host.socket("tcp://127.0.0.1:8443").is_listening
    assert not host.socket("tcp://0.0.0.0:443").is_listening


def test_nginx_that_ran_before_the_role_was_confined(host: Host) -> None:
    process = host.service("nginx").systemd_properties["MainPID"]
    assert "NoNewPrivs:\t1" in host.check_output(f"cat /proc/{process}/status")
    assert host.file(f"/proc/{process}").user == "www-data"


def test_nginx_itself_sees_the_settings(host: Host) -> None:
    config = host.check_output("nginx -T")
    for line in (
        "server_name localhost chat.example.org;",
        "proxy_read_timeout 25500ms;",
        "proxy_send_timeout 11000ms;",
        "proxy_connect_timeout 1500ms;",
        "keepalive_timeout 20000ms;",
        "keepalive_timeout 40000ms;",
        "worker_shutdown_timeout 36000ms;",
        "probe_interval_s = 0.5,",
        "probe_timeouts = 2,",
    ):
        assert line in config
    stop = host.service("nginx").systemd_properties["TimeoutStopUSec"]
    assert stop == "56s"


def test_key_and_member_that_went_are_gone_without_a_reload(ask) -> None:
    assert ask("/v1/models", "wf-canary-key", port=8443)[0] == 401
    answers = [ask("/v1/models", KEY, port=8443) for _ in range(6)]
    assert {answer["replica"] for _, answer in answers} == {"fake-2"}


def test_body_limit(ask) -> None:
    status, answer = ask("/v1/chat/completions", KEY, "x" * 1001, port=8443)
    assert (status, answer["error"]["code"]) == (413, "request_too_large")


def test_wait_is_bounded_when_no_replica_is_ready(host: Host, ask) -> None:
    host.check_output("touch /run/fake-fake-2.cold && sleep 1")
    try:
        assert ask("/healthz", port=8443)[0] == 503
        status, answer = ask("/v1/models", KEY, port=8443)
        assert (status, answer["error"]["code"]) == (503, "no_replica_ready")
    finally:
        host.check_output("rm /run/fake-fake-2.cold")
