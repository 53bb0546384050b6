from testinfra.host import Host


def test_the_other_package_is_installed(host: Host) -> None:
    assert host.package("less").is_installed


def test_the_other_time_zone_is_in_force(host: Host) -> None:
    assert host.check_output("date +%Z") == "CST"


def test_journald_restarted_with_the_new_limits(host: Host) -> None:
    limits = host.run("systemd-analyze cat-config systemd/journald.conf").stdout
    assert "SystemMaxUse=64M" in limits
    assert "SystemKeepFree=128M" in limits
    changed = host.file("/etc/systemd/journald.conf.d/60-warmfleet.conf").mtime.timestamp()
    process = host.service("systemd-journald").systemd_properties["MainPID"]
    started = float(host.check_output(f"stat --format=%Y /proc/{process}"))
    assert started >= int(changed)


def test_the_kernel_setting_changed(host: Host) -> None:
    assert host.sysctl("net.core.somaxconn") == 8192


def test_folders_belong_to_the_other_group(host: Host) -> None:
    assert host.file("/srv/warmfleet").group == "weights"
