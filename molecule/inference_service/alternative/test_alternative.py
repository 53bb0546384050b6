import os
from collections.abc import Callable
from pathlib import Path

from testinfra.host import Host

UNIT = "warmfleet-inference@talk.service"


def test_the_service_restarted_with_the_new_settings_and_release(host: Host, admin) -> None:
    service = host.service(UNIT)
    assert service.is_running
    process = service.systemd_properties["MainPID"]
    assert "-2/bin/python" in host.check_output(f"tr '\\0' ' ' < /proc/{process}/cmdline")
    assert admin("/coldstart")[1]["revision"] == "second"


def test_the_renewed_certificate_is_the_one_that_is_shown(host: Host) -> None:
    folder = Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], ".warmfleet/molecule/secrets")
    script = "import ssl; print(ssl.get_server_certificate(('127.0.0.1', 9100)))"
    shown = host.check_output("python3 -c %s", script)
    assert shown.strip() == folder.joinpath("fleet/replicas/replica-1.pem").read_text().strip()


def test_the_unit_has_the_other_variables(host: Host) -> None:
    properties = host.service(UNIT).systemd_properties
    assert properties["RestartUSec"] == "2s"
    assert properties["PrivateDevices"] == "no"
    assert properties["MemoryDenyWriteExecute"] == "no"
    assert properties["TimeoutStartUSec"] == "1min 1s"
    assert properties["TimeoutStopUSec"] == "16s"


def test_exposure_is_bounded_on_a_gpu_host_too(exposure: Callable[[str], float]) -> None:
    assert exposure(UNIT) <= 2.0


def test_the_former_release_stays_for_the_way_back(host: Host) -> None:
    assert len(host.check_output("ls /opt/warmfleet/releases").split()) == 2


def test_instances_that_are_not_declared_are_gone(host: Host) -> None:
    for name in ("chat", "broken"):
        service = host.service(f"warmfleet-inference@{name}.service")
        assert service.systemd_properties["ActiveState"] == "inactive"
        assert not service.is_enabled
        assert not host.file(f"/etc/warmfleet/inference/{name}.json").exists
        assert not host.file(f"/etc/systemd/system/warmfleet-inference@{name}.service.d").exists


def test_ledgers_of_an_instance_that_is_gone_stay(host: Host) -> None:
    assert host.check_output("ls /var/lib/warmfleet/chat/ledger")
