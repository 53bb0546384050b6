"""The logs of a host, as they are written there."""

import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Generator
from enum import StrEnum

from warmfleet.errors import HostUnreachableError, OperationError, ToolMissingError
from warmfleet.inventory.ssh import ssh_command
from warmfleet.operate.remote import as_root
from warmfleet.operate.secrecy import masking
from warmfleet.operate.target import Target

__all__ = ["SINCE", "Log", "default_log", "read_log"]

SINCE = re.compile(r"(?P<ago>[1-9]\d{0,5}[smhd])|\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?")
"""``10m`` (of s, m, h, d), or a time of the host's clock: ``2026-11-30 03:00``."""

_SSH_FAILED = 255
_GRACE_S = 5


class Log(StrEnum):
    """What can be read."""

    INFERENCE = "inference"
    NGINX = "nginx"
    ACCESS = "access"
    ERROR = "error"
    SYSTEM = "system"

    @property
    def is_file(self) -> bool:
        """True for nginx's own files; all others are in the journal."""
        return self in _FILES


_FILES = {Log.ACCESS: "/var/log/nginx/access.log", Log.ERROR: "/var/log/nginx/error.log"}
_UNITS = {Log.INFERENCE: "warmfleet-inference@*.service", Log.NGINX: "nginx.service"}


def default_log(target: Target) -> Log:
    """Return what says most of a host: its service, or what the proxy thinks of replicas."""
    return Log.ERROR if target.is_gateway else Log.INFERENCE


def read_log(
    target: Target, log: Log, *, lines: int | None, since: str | None, follow: bool
) -> Generator[str]:
    """Yield lines, oldest first, without line ends and without secrets.

    With ``follow`` it goes on until the generator is closed, or the host ends it.

    Raises:
        HostUnreachableError: ssh could not get there; with ssh's own reason.
        OperationError: the host has no such log.
        ToolMissingError: no ``ssh`` on this machine.
    """
    if shutil.which("ssh") is None:
        msg = "ssh is not on PATH; install an OpenSSH client"
        raise ToolMissingError(msg)
    command = as_root(target.host, _command(log, lines=lines, since=since, follow=follow))
    mask = masking(target.credentials)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        process = subprocess.Popen(
            [*ssh_command(target.host, target.credentials), "--", shlex.join(command)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            errors="replace",
        )
        try:
            assert process.stdout is not None  # noqa: S101 - for the type checker: stdout=PIPE
            for line in process.stdout:
                yield mask(line.rstrip("\n"))
            status = process.wait()
        finally:
            _end(process)
        errors.seek(0)
        said = mask(" ".join(errors.read().split()))
    if status == _SSH_FAILED:
        msg = f"host {target.host.name} is not reachable: {said or 'ssh gave no reason'}"
        raise HostUnreachableError(msg)
    if status:
        msg = f"host {target.host.name} gave no {log} log: {said or f'exit status {status}'}"
        raise OperationError(msg)


def _command(log: Log, *, lines: int | None, since: str | None, follow: bool) -> list[str]:
    if log.is_file:
        wanted = ["--follow=name", "--retry"] if follow else []
        return ["tail", f"--lines={lines if lines is not None else 100}", *wanted, _FILES[log]]
    command = ["journalctl", "--no-pager", "--quiet", "--output=short-iso"]
    if log in _UNITS:
        command.append(f"--unit={_UNITS[log]}")
    if since is not None:
        ago = (SINCE.fullmatch(since) or {"ago": None})["ago"]
        command.append(f"--since={f'-{ago}' if ago else since}")
    if lines is not None or since is None:
        command.append(f"--lines={lines if lines is not None else 100}")
    elif follow:
        command.append("--lines=all")  # or only the last ten of them
    return [*command, "--follow"] if follow else command


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout=_GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    if process.stdout is not None:
        process.stdout.close()
