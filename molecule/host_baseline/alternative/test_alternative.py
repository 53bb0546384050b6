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


def test_the_other_ports_are_let_in_from_where_they_may_come(host: Host) -> None:
    rules = host.check_output("nft list table inet warmfleet")
    accepted = [
        line.strip() for line in rules.splitlines() if "comment" in line and "dport" in line
    ]
    assert accepted == [
        'ip saddr 192.0.2.0/24 tcp dport 8000 accept comment "traffic chat"',
        'ip6 saddr 2001:db8::7 tcp dport 8000 accept comment "traffic chat"',
        'udp dport 5353 accept comment "names"',
    ]


def test_tables_of_others_are_left_alone(host: Host) -> None:
    # alternative.yml made it before rules were switched, removed and switched again.
    assert "ip saddr 192.0.2.1" in host.check_output("nft list table ip others")
