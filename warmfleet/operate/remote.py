"""A command on a host, over a connection that is open."""

import shlex
import time
from collections.abc import Callable, Sequence

import paramiko

from warmfleet.errors import HostUnreachableError, OperationError
from warmfleet.provider.process import Finished
from warmfleet.stack.outputs import HostOutput
from warmfleet.telemetry.tunnel import Tunnel

__all__ = ["as_root", "run_remote", "start_remote"]

_POLL_S = 0.1


def as_root(host: HostOutput, argv: Sequence[str]) -> list[str]:
    """Return the command as it must be called by the user that logs in."""
    return list(argv) if host.ssh.user == "root" else ["sudo", "-n", *argv]


def run_remote(
    tunnel: Tunnel,
    host: HostOutput,
    argv: Sequence[str],
    *,
    stdin: str = "",
    limit_s: float,
    on_wait: Callable[[], None] | None = None,
) -> Finished:
    """Run ``argv`` as root to its end, whatever its exit status; ``on_wait`` is called meanwhile.

    Its stderr is part of ``stdout``.

    Raises:
        HostUnreachableError: the connection broke.
        OperationError: it took longer than ``limit_s`` seconds; it may still be running.
    """
    channel = start_remote(tunnel, host, argv)
    try:
        channel.sendall(stdin.encode())
        channel.shutdown_write()
        output = bytearray()
        deadline = time.monotonic() + limit_s
        while not (channel.exit_status_ready() and channel.eof_received) or channel.recv_ready():
            if channel.recv_ready():
                output += channel.recv(65536)
                continue
            if channel.closed:
                break
            if time.monotonic() > deadline:
                msg = f"host {host.name}: {argv[0]} was not done after {limit_s:.0f} s"
                raise OperationError(msg)
            if on_wait is not None:
                on_wait()
            channel.status_event.wait(_POLL_S)
        status = channel.recv_exit_status()
    except (paramiko.SSHException, OSError, EOFError) as error:
        raise _gone(host, argv) from error
    finally:
        channel.close()
    if status < 0:
        raise _gone(host, argv)
    return Finished(status, output.decode(errors="replace"), "")


def start_remote(tunnel: Tunnel, host: HostOutput, argv: Sequence[str]) -> paramiko.Channel:
    """Start ``argv`` as root and return the channel to it; whoever asked closes it.

    Raises:
        HostUnreachableError: the connection broke.
    """
    channel = tunnel.session()
    try:
        channel.set_combine_stderr(True)
        channel.exec_command(shlex.join(as_root(host, argv)))
    except (paramiko.SSHException, OSError, EOFError) as error:
        channel.close()
        raise _gone(host, argv) from error
    return channel


def _gone(host: HostOutput, argv: Sequence[str]) -> HostUnreachableError:
    return HostUnreachableError(f"host {host.name}: the connection broke during {argv[0]}")
