from testinfra.host import Host

UNIT = "warmfleet-inference@chat.service"


def test_the_service_restarted_with_the_new_settings_and_release(host: Host) -> None:
    service = host.service(UNIT)
    assert service.is_running
    process = service.systemd_properties["MainPID"]
    assert "-2/bin/python" in host.check_output(f"tr '\\0' ' ' < /proc/{process}/cmdline")
    assert '"second"' in host.check_output(
        'python3 -c "import urllib.request as u; '
        "print(u.urlopen('http://127.0.0.1:9100/coldstart').read().decode())\""
    )


def test_the_unit_has_the_other_variables(host: Host) -> None:
    properties = host.service(UNIT).systemd_properties
    assert properties["RestartUSec"] == "2s"
    assert properties["PrivateDevices"] == "no"
    assert properties["MemoryDenyWriteExecute"] == "no"
    assert properties["TimeoutStartUSec"] == "1min 1s"
    assert properties["TimeoutStopUSec"] == "16s"


def test_the_former_release_stays_for_the_way_back(host: Host) -> None:
    assert len(host.check_output("ls /opt/warmfleet/releases").split()) == 2


def test_a_running_service_is_not_touched_by_another_that_fails(host: Host) -> None:
    assert host.service(UNIT).is_running
    assert not host.service("warmfleet-inference@broken.service").is_running
