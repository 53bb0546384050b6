from collections.abc import Callable

import pytest
from testinfra.host import Host


@pytest.mark.parametrize("package", ["acl", "ca-certificates", "procps", "python3-apt"])
def test_base_packages_are_installed(host: Host, package: str) -> None:
    assert host.package(package).is_installed


@pytest.mark.parametrize(
    ("path", "group", "mode"),
    [
        ("/etc/warmfleet", "warmfleet", 0o750),
        ("/opt/warmfleet", "root", 0o755),
        ("/srv/warmfleet", "warmfleet", 0o750),
    ],
)
def test_folders_are_for_the_service_alone(host: Host, path: str, group: str, mode: int) -> None:
    folder = host.file(path)
    assert (folder.is_directory, folder.user, folder.group, folder.mode) == (
        True,
        "root",
        group,
        mode,
    )


def test_journald_runs_with_the_limits(host: Host) -> None:
    limits = host.run("systemd-analyze cat-config systemd/journald.conf").stdout
    assert "SystemMaxUse=512M" in limits
    assert "SystemKeepFree=1024M" in limits
    assert host.service("systemd-journald").is_running


def test_kernel_settings_of_the_containers_own_network_are_in_force(host: Host) -> None:
    # vm.* belongs to the machine around the container: the role reports it and leaves it alone.
    assert host.sysctl("net.core.somaxconn") == 4096
    assert host.sysctl("net.ipv4.tcp_slow_start_after_idle") == 0


def test_logs_are_in_utc(host: Host) -> None:
    assert host.check_output("date +%Z") == "UTC"


def test_only_declared_ports_are_let_in(host: Host) -> None:
    rules = host.check_output("nft list table inet warmfleet")
    assert "hook input priority filter; policy drop;" in rules
    accepted = [line.strip() for line in rules.splitlines() if "dport" in line]
    assert accepted == [
        "ip6 saddr fe80::/10 udp dport 546 accept",
        'tcp dport 22 accept comment "ssh"',
    ]


def test_the_firewall_is_loaded_at_boot_and_bounded_itself(
    host: Host, exposure: Callable[[str], float]
) -> None:
    unit = host.service("warmfleet-firewall")
    assert unit.is_enabled
    assert unit.systemd_properties["ActiveState"] == "active"
    assert unit.systemd_properties["WantedBy"] == "sysinit.target"
    assert exposure("warmfleet-firewall.service") <= 2.0
    # What would remove the rules was disarmed.
    assert host.run("systemctl cat warmfleet-firewall-revert.timer").failed


def test_rules_come_back_when_the_packaged_unit_flushes_all(host: Host) -> None:
    host.check_output("systemctl restart nftables")
    # That waited for the packaged unit alone; this waits for ours, and starts none that runs.
    host.check_output("systemctl start warmfleet-firewall")
    host.check_output("nft list table inet warmfleet")
