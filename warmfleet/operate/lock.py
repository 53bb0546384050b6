"""One operator at a time: a lock on the gateway that ends with the connection it is held over."""

import getpass
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import paramiko

from warmfleet.errors import OperationError, OperationRefusedError
from warmfleet.operate.gateways import Gateways
from warmfleet.operate.remote import run_remote, start_remote
from warmfleet.telemetry.tunnel import TIMEOUT_S

__all__ = ["note_of_now", "operators_lock"]

_LOCK_FILE = "/run/warmfleet-operation.lock"
_HELD_BY_ANOTHER = 75
_BEAT_S = 15.0
_SILENCE_S = 60
_PATIENCE_S = 3  # for one whose connection has just ended
# The lock goes when stdin ends, or when a cut network has been silent for long: nobody may then
# still wait for a connection that the host believes in.
_HOLD = f'echo "$1" > "$0"; echo held; while read -r -t {_SILENCE_S}; do :; done'


def note_of_now() -> dict[str, str]:
    """Return who works on a host, and since when, for others to read."""
    since = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {"by": f"{getpass.getuser()}@{socket.gethostname()}", "since": since}


@contextmanager
def operators_lock(gateways: Gateways, doing: str) -> Iterator[None]:
    """Hold the lock of all operators, whatever machine they work from.

    Raises:
        OperationRefusedError: another operator holds it; says who, at what and since when.
        OperationError: the lock cannot be taken.
    """
    host, tunnel = gateways.first
    note = note_of_now()
    about = f"{doing} by {note['by']} since {note['since']}"
    hold = ["bash", "-c", _HOLD, _LOCK_FILE, about]
    options = [f"--timeout={_PATIENCE_S}", f"--conflict-exit-code={_HELD_BY_ANOTHER}"]
    channel = start_remote(tunnel, host, ["flock", *options, _LOCK_FILE, *hold])
    try:
        channel.settimeout(TIMEOUT_S)
        said = _first_line(channel)
        if said != "held":
            status = channel.recv_exit_status()
            if status == _HELD_BY_ANOTHER:
                holder = run_remote(tunnel, host, ["cat", _LOCK_FILE], limit_s=TIMEOUT_S).stdout
                msg = (
                    f"another operator is at work: {holder.strip()}; needed: one at a time; wait "
                    "until that has ended"
                )
                raise OperationRefusedError(msg)
            msg = f"{_LOCK_FILE} on {host.name} cannot be taken ({said or f'status {status}'})"
            raise OperationError(msg)
        with _beating(channel):
            yield
        # Until it is free: the next command of a script must not be refused for our sake.
        channel.shutdown_write()
        channel.status_event.wait(TIMEOUT_S)
    finally:
        channel.close()


def _first_line(channel: paramiko.Channel) -> str:
    """Return what the command says first; empty when it ended, or says nothing in time."""
    said = b""
    try:
        while b"\n" not in said and (more := channel.recv(1024)):
            said += more
    except TimeoutError:
        pass
    return said.decode(errors="replace").strip()


@contextmanager
def _beating(channel: paramiko.Channel) -> Iterator[None]:
    """Tell the host all the while that we are there."""
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(_BEAT_S):
            try:
                channel.sendall(b"\n")
            except OSError:
                return

    thread = threading.Thread(target=beat, name="operators-lock", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
