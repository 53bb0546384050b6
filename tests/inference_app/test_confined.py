"""What an engine's processes cannot do, seen from inside one."""

import json
import subprocess
import sys
from typing import Any

import pytest

from inference_app.engines import socket_filter
from inference_app.engines.confined import confined

# Families and kinds that a program could leave the host by, a ring that would make sockets for it,
# and what it must still be able to do. The last runs in a child of the process.
_SCRIPT = """
import ctypes, errno, json, os, socket, sys
def attempt(make):
    try:
        return "made" if make() is not None else None
    except OSError as error:
        return errno.errorcode[error.errno]
def ring():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(425, 1, ctypes.create_string_buffer(256)) < 0:
        raise OSError(ctypes.get_errno(), "io_uring_setup")
    return True
names = ("AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_VSOCK", "AF_UNIX")
def datagrams(name):
    return attempt(lambda: socket.socket(getattr(socket, name), socket.SOCK_DGRAM))
tried = {name: datagrams(name) for name in names}
tried["pair"] = attempt(socket.socketpair)
tried["tcp"] = attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
tried["ring"] = attempt(ring)
if os.fork() == 0:
    tried["child"] = attempt(lambda: socket.socket(socket.AF_INET))
    print(json.dumps(tried), flush=True)
    os._exit(0)
os.wait()
"""


def _tried(*, network: bool) -> dict[str, Any]:
    command = confined([sys.executable, "-c", _SCRIPT], network=network)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_an_engine_without_network_has_unix_sockets_alone() -> None:
    tried = _tried(network=False)
    assert (tried.pop("AF_UNIX"), tried.pop("pair")) == ("made", "made")
    assert tried.pop("ring") == "ENOSYS"
    assert set(tried.values()) == {"EAFNOSUPPORT"}, tried


def test_an_engine_that_needs_tcp_is_left_to_the_unit() -> None:
    tried = _tried(network=True)
    assert (tried["tcp"], tried["child"]) == ("made", "made")


def test_a_machine_that_the_filter_is_not_written_for_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "riscv64")
    with pytest.raises(OSError, match="no socket filter for riscv64"):
        socket_filter.unix_sockets_only()
