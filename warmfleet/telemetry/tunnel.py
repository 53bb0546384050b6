"""HTTP to a port that only the host itself reaches: through SSH, with the pinned host key."""

import base64
import http.client
import json
import logging
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import paramiko

from warmfleet.errors import HostUnreachableError
from warmfleet.stack.credentials import Credentials
from warmfleet.stack.outputs import HostOutput
from warmfleet.telemetry.tls_stream import TlsStream

__all__ = ["TIMEOUT_S", "Tunnel"]

TIMEOUT_S = 8.0
"""Bound of each step: connection, log-in, opening the port, one silence in an answer."""

_NEW_KEY = (
    "if the host was made anew, run warmfleet up, which refreshes the stack; if not, something "
    "else answers in its place"
)
# The library's words for what went wrong before the log-in, and ours. Which of the first two comes
# of a host that says nothing is a race of its two time-outs.
_NO_ANSWER = "it gave no SSH answer within {limit:g} s, or closed the connection"
_SSH_CAUSES = {
    "No existing session": _NO_ANSWER,
    "Error reading SSH protocol banner": _NO_ANSWER,
    "Indecipherable protocol version": "what answers there does not speak SSH",
}
_LARGEST_ANSWER = 4 * 1024 * 1024

# Every error of the library is raised to us as well; unhandled log records would go to stderr.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


class Tunnel:
    """One SSH connection to a host; a context from ``Tunnel.open``."""

    def __init__(self, host: str, transport: paramiko.Transport) -> None:
        self._host = host
        self._transport = transport

    @property
    def host(self) -> str:
        """Name of the host at the other end."""
        return self._host

    @classmethod
    @contextmanager
    def open(cls, host: HostOutput, credentials: Credentials) -> Iterator["Tunnel"]:
        """Connect and log in.

        Raises:
            HostUnreachableError: no answer, another host key than the pinned one, or no log-in.
        """
        client = paramiko.SSHClient()
        client.set_missing_host_key_policy(paramiko.RejectPolicy())
        try:
            _connect(client, host, credentials)
            transport = client.get_transport()
            if transport is None:  # pragma: no cover - connect() has made one
                raise _unreachable(host, "the connection was closed")
            yield cls(host.name, transport)
        finally:
            client.close()

    def get_json(
        self, address: str, port: int, path: str, tls: ssl.SSLContext | None = None
    ) -> tuple[int, Any]:
        """Return status and JSON of ``http://ADDRESS:PORT/PATH`` as the host itself sees it.

        With ``tls`` it is HTTPS, and the certificate must be for the name of the host.

        Raises:
            HostUnreachableError: nothing listens there, it is not who it should be, or the answer
                is not JSON.
        """
        where = f"{address}:{port}"
        try:
            channel = self._transport.open_channel(
                "direct-tcpip", (address, port), ("127.0.0.1", 0), timeout=TIMEOUT_S
            )
        except (paramiko.SSHException, OSError, EOFError) as error:
            msg = f"host {self._host}: nothing answers on {where} ({_cause(error)})"
            raise HostUnreachableError(msg) from error
        channel.settimeout(TIMEOUT_S)
        try:
            # Not HTTPConnection: it closes a connection that ends with the answer before the body
            # was read, which a socket survives and a channel does not.
            head = f"GET {path} HTTP/1.1\r\nHost: {where}\r\nConnection: close\r\n\r\n"
            stream = channel if tls is None else TlsStream(channel, tls, self._host)
            stream.sendall(head.encode())
            response = http.client.HTTPResponse(cast("socket.socket", stream), method="GET")
            response.begin()
            return response.status, json.loads(response.read(_LARGEST_ANSWER))
        except (OSError, http.client.HTTPException, ValueError, EOFError) as error:
            msg = f"host {self._host}: {where}{path} gave no readable answer ({_cause(error)})"
            raise HostUnreachableError(msg) from error
        finally:
            channel.close()

    def session(self) -> paramiko.Channel:
        """Open a channel for one command; whoever asked closes it.

        Raises:
            HostUnreachableError: the connection is gone.
        """
        try:
            return self._transport.open_session(timeout=TIMEOUT_S)
        except (paramiko.SSHException, OSError, EOFError) as error:
            msg = f"host {self._host}: the connection is gone ({_cause(error)})"
            raise HostUnreachableError(msg) from error


def _connect(client: paramiko.SSHClient, host: HostOutput, credentials: Credentials) -> None:
    ssh = host.ssh
    kind, _, encoded = ssh.host_key.partition(" ")
    name = ssh.address if ssh.port == paramiko.config.SSH_PORT else f"[{ssh.address}]:{ssh.port}"
    try:
        pinned = paramiko.PKey.from_type_string(kind, _decode(encoded))
        client.get_host_keys().add(name, kind, pinned)
        client.connect(
            ssh.address,
            port=ssh.port,
            username=ssh.user,
            key_filename=str(credentials.ssh_private_key_file),
            allow_agent=False,
            look_for_keys=False,
            timeout=TIMEOUT_S,
            banner_timeout=TIMEOUT_S,
            auth_timeout=TIMEOUT_S,
        )
    except paramiko.BadHostKeyException as error:
        msg = "it shows another host key than the one that is pinned in the stack"
        raise _unreachable(host, msg, _NEW_KEY) from error
    except paramiko.AuthenticationException as error:
        msg = f"it does not let in the key {credentials.ssh_private_key_file}"
        raise _unreachable(host, msg) from error
    except (paramiko.SSHException, OSError, EOFError, ValueError) as error:
        raise _unreachable(host, _cause(error)) from error


def _unreachable(
    host: HostOutput, cause: str, next_step: str = "check the host and its sshd"
) -> HostUnreachableError:
    ssh = host.ssh
    where = f"{ssh.user}@{ssh.address}:{ssh.port}"
    msg = f"host {host.name} ({where}) is not reachable: {cause}; {next_step}"
    return HostUnreachableError(msg)


def _decode(encoded: str) -> bytes:
    return base64.b64decode(encoded.split()[0])


def _cause(error: BaseException) -> str:
    if isinstance(error, TimeoutError | socket.timeout):
        return f"no answer within {TIMEOUT_S:.0f} s"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {error.reason or 'the connection was closed'}"
    if isinstance(error, paramiko.ChannelException):
        return error.text
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    for sign, cause in _SSH_CAUSES.items():
        if sign in str(error):
            return cause.format(limit=TIMEOUT_S)
    return " ".join(str(error).split()) or type(error).__name__
