"""Logs come through the system's ssh, with the pinned key, and no secret comes with them."""

import itertools
import shutil
import subprocess
from collections.abc import Callable
from contextlib import closing

import pytest

from tests.operate.conftest import Site
from warmfleet.errors import HostUnreachableError, OperationError
from warmfleet.operate.logs import SINCE, Log, default_log, read_log
from warmfleet.operate.secrecy import masking
from warmfleet.operate.shell import shell_call

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="needs an ssh client")


def read(site: Site, host: str, log: Log, **wanted: object) -> list[str]:
    asked = {"lines": None, "since": None, "follow": False, **wanted}
    return list(read_log(site.target(host), log, **asked))


@pytest.mark.parametrize(
    ("log", "wanted", "called"),
    [
        (Log.INFERENCE, {}, "--unit=warmfleet-inference@*.service --lines=100"),
        (Log.NGINX, {"lines": 3}, "--unit=nginx.service --lines=3"),
        (Log.SYSTEM, {"since": "10m"}, "--since=-10m"),
        (
            Log.SYSTEM,
            {"since": "2026-11-30 03:00", "lines": 7},
            "--since=2026-11-30 03:00 --lines=7",
        ),
        (Log.SYSTEM, {"since": "2h", "follow": True}, "--since=-2h --lines=all --follow"),
    ],
)
def test_what_is_asked_of_the_journal(
    site: Site, log: Log, wanted: dict[str, object], called: str
) -> None:
    site.program("journalctl", 'echo "$@"')
    (line,) = read(site, "replica-1", log, **wanted)
    assert line == f"--no-pager --quiet --output=short-iso {called}"


def test_what_is_asked_of_nginx(site: Site) -> None:
    site.program("tail", 'echo "$@"')
    assert read(site, "gw-1", Log.ACCESS, lines=2) == ["--lines=2 /var/log/nginx/access.log"]
    assert read(site, "gw-1", Log.ERROR, follow=True) == [
        "--lines=100 --follow=name --retry /var/log/nginx/error.log"
    ]
    assert default_log(site.target("gw-1")) is Log.ERROR
    assert default_log(site.target("replica-1")) is Log.INFERENCE


def test_no_secret_of_the_environment_comes_through(site: Site) -> None:
    key = site.credentials.api_key_file.read_text().strip()
    private = site.credentials.ssh_private_key_file.read_text().splitlines()[1]
    inside = site.credentials.replica_key_file("replica-1").read_text().splitlines()[1]
    site.program(
        "journalctl",
        f"echo 'a {key} b'; echo 'x {private} {inside} y'; "
        "echo 'Authorization: Bearer sk-another-key z'; "
        "echo 'wf-0123456789abcdefghij of somebody'; echo 'Cafe: 8 °C'",
    )
    assert read(site, "replica-1", Log.SYSTEM) == [
        "a *** b",
        "x *** *** y",
        "Authorization: Bearer *** z",
        "*** of somebody",
        "Cafe: 8 °C",
    ]


def test_what_is_public_is_not_masked(site: Site) -> None:
    certificate = site.credentials.ca_file.read_text().splitlines()[1]
    assert masking(site.credentials)(certificate) == certificate


def test_following_ends_on_both_sides(site: Site, wait_until: Callable[..., None]) -> None:
    ended = site.programs / "ended"
    # As journalctl does: it goes on until its reader is gone.
    site.program(
        "journalctl", f"trap '' PIPE; while echo line 2>&1; do sleep 0.1; done; touch {ended}"
    )
    found = read_log(site.target("replica-1"), Log.INFERENCE, lines=None, since=None, follow=True)
    with closing(found):
        assert list(itertools.islice(found, 3)) == ["line"] * 3
    wait_until(ended.exists)


def test_a_log_that_is_not_there(site: Site) -> None:
    site.program("tail", "echo 'tail: no such file' >&2; exit 1")
    with pytest.raises(OperationError, match="host replica-1 gave no access log: exit status 1"):
        read(site, "replica-1", Log.ACCESS)


def test_another_host_key_is_refused(site: Site) -> None:
    swapped = site.fleet.sites[0].hosts[0].ssh
    host = site.target("replica-1").host
    path = site.credentials.known_hosts_file
    path.write_text(f"[{host.ssh.address}]:{host.ssh.port} {swapped.host_key}\n")
    with pytest.raises(HostUnreachableError, match=r"host replica-1 is not reachable: .*Host key"):
        read(site, "replica-1", Log.INFERENCE)


def test_a_host_that_is_gone(site: Site) -> None:
    site.servers["replica-1"].close()
    with pytest.raises(HostUnreachableError, match=r"is not reachable: ssh: connect to host"):
        read(site, "replica-1", Log.INFERENCE)


@pytest.mark.parametrize("text", ["10m", "1d", "999s", "2026-11-30", "2026-11-30 03:00:01"])
def test_times_that_are_taken(text: str) -> None:
    assert SINCE.fullmatch(text)


@pytest.mark.parametrize("text", ["", "0m", "10", "m", "yesterday", "-10m", "10m; rm", "2026-1-1"])
def test_times_that_are_refused(text: str) -> None:
    assert not SINCE.fullmatch(text)


def test_the_call_of_ssh_gets_there_and_passes_the_status_on(site: Site) -> None:
    call = shell_call(site.target("replica-1"), ["echo", "here;", "exit 7"])
    done = subprocess.run(call.argv, capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout, done.returncode) == ("here\n", 7), done.stderr
    assert call.argv[:1] == ["ssh"]
    assert shell_call(site.target("replica-1"), []).argv[-1] == "127.0.0.1"
