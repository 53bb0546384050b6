"""A host on loopback: a real SSH server that forwards ports and runs commands."""

import contextlib
import io
import os
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import paramiko
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from warmfleet.project import Project
from warmfleet.stack.credentials import Credentials
from warmfleet.stack.outputs import HostOutput, HostRole, SshOutput

ADDRESS = "192.0.2.11"
REPLICAS = dict.fromkeys(("replica-1", "replica-2", "replica-3"), ADDRESS)


class FakeService:
    """Answers like a replica's admin port; ``answers`` is path -> (status, body)."""

    def __init__(self, answers: dict[str, tuple[int, str]], tls: ssl.SSLContext | None) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, body = answers.get(self.path, (404, "{}"))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body.encode())))
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            self.server.socket = tls.wrap_socket(
                self.server.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return self.server.server_port

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class _Forwarding(paramiko.ServerInterface):
    """Lets one key in, opens only ports that it was told of, and runs commands, as sshd would."""

    def __init__(
        self, user: str, key: str, ports: dict[tuple[str, int], int], programs: Path | None
    ) -> None:
        self._user = user
        self._key = key
        self._ports = ports
        self._programs = programs
        self.opened: dict[int, socket.socket] = {}
        self.all_opened: list[socket.socket] = []
        self.due: list[threading.Thread] = []
        self.commands: list[threading.Thread] = []

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        known = username == self._user and key.get_base64() == self._key
        return paramiko.common.AUTH_SUCCESSFUL if known else paramiko.common.AUTH_FAILED

    def get_allowed_auths(self, username: str) -> str:  # noqa: ARG002 - the library's signature
        return "publickey"

    def check_channel_direct_tcpip_request(
        self,
        chanid: int,
        origin: tuple[str, int],  # noqa: ARG002
        destination: tuple[str, int],
    ) -> int:
        try:
            target = socket.create_connection(("127.0.0.1", self._ports[destination]), timeout=5)
        except (KeyError, OSError):
            return paramiko.common.OPEN_FAILED_CONNECT_FAILED
        self.opened[chanid] = target
        self.all_opened.append(target)
        return paramiko.common.OPEN_SUCCEEDED

    def check_channel_request(self, kind: str, chanid: int) -> int:  # noqa: ARG002
        allowed = kind == "session" and self._programs is not None
        common = paramiko.common
        return common.OPEN_SUCCEEDED if allowed else common.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        path = f"{self._programs}:{os.environ['PATH']}"
        process = subprocess.Popen(
            ["sh", "-c", command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PATH": path},
        )
        self.due += [
            threading.Thread(target=work, args=(channel, process), daemon=True)
            for work in (_feed, _answer)
        ]
        return True

    def start_due(self) -> None:
        """Let commands speak whose start has been confirmed: not before, or clients give up."""
        for thread in self.due:
            thread.start()
        self.commands += self.due
        self.due = []


class _Transport(paramiko.Transport):
    def _handle_request(channel: paramiko.Channel, message: paramiko.Message) -> None:  # noqa: N805
        channel._handle_request(message)
        channel.get_transport().server_object.start_due()

    _channel_handler_table = {  # noqa: RUF012 - the library's own form
        **paramiko.Transport._channel_handler_table,
        paramiko.common.MSG_CHANNEL_REQUEST: _handle_request,
    }


class SshHost:
    """The SSH server; one thread a connection."""

    def __init__(
        self,
        authorized_key: str,
        ports: dict[tuple[str, int], int],
        user: str = "ops",
        programs: Path | None = None,
    ) -> None:
        """Start it; ``programs`` is a folder that hides others of the same names to commands."""
        self._user = user
        self._programs = programs
        self.key = paramiko.Ed25519Key.from_private_key(_new_key())
        self._authorized = authorized_key.split()[1]
        self._ports = ports
        self.listener = socket.create_server(("127.0.0.1", 0))
        self._threads: list[threading.Thread] = []
        self._run(self._accept)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    @property
    def host_key(self) -> str:
        return f"{self.key.get_name()} {self.key.get_base64()}"

    def close(self) -> None:
        """Stop listening and end every connection; may be called twice."""
        if self.listener.fileno() == -1:
            return
        # Closing alone would not wake the thread that waits in accept().
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self._run(self._serve, connection)

    def _run(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self, connection: socket.socket) -> None:
        transport = _Transport(connection)
        transport.add_server_key(self.key)
        server = _Forwarding(self._user, self._authorized, self._ports, self._programs)
        channels = []
        try:
            transport.start_server(server=server)
            while transport.is_active():
                channel = transport.accept(0.2)
                if channel is None:
                    continue
                channels.append(channel)  # the library closes those that nobody holds
                if target := server.opened.pop(channel.get_id(), None):
                    self._run(_copy, channel, target)
                    self._run(_copy, target, channel)
        except (paramiko.SSHException, EOFError, OSError):
            pass
        finally:
            transport.close()
            transport.join(5)
            connection.close()
            for thread in server.commands:
                thread.join(5)
            for target in server.all_opened:
                target.close()


def _feed(channel: paramiko.Channel, process: subprocess.Popen[bytes]) -> None:
    """Give a command its stdin, which ends with the connection."""
    assert process.stdin is not None
    with contextlib.suppress(OSError), process.stdin as given:
        while data := channel.recv(65536):
            given.write(data)
            given.flush()


def _answer(channel: paramiko.Channel, process: subprocess.Popen[bytes]) -> None:
    """Pass a command's output on; nobody listens any more, and it meets a closed pipe."""
    assert process.stdout is not None
    with contextlib.suppress(OSError, EOFError), process.stdout as output:
        while data := output.read1(65536):
            channel.sendall(data)
    status = process.wait()
    # The library tells of a channel that is gone by OSError, and of a connection by EOFError.
    with contextlib.suppress(OSError, EOFError):
        channel.send_exit_status(status)
        channel.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except (OSError, EOFError):
        pass


def _new_key() -> io.StringIO:
    encoded = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.NoEncryption(),
    )
    return io.StringIO(encoded.decode())


@pytest.fixture
def credentials(tmp_path: Path) -> Credentials:
    return Credentials.ensure(Project(tmp_path), "lab", ["localhost"], REPLICAS)


def replica_tls(credentials: Credentials, name: str) -> ssl.SSLContext:
    """Serve as the replica of that name does: only to who shows a certificate of the fleet's."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(
        credentials.replica_certificate_file(name), credentials.replica_key_file(name)
    )
    context.load_verify_locations(credentials.fleet_ca_file)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


@pytest.fixture
def start_service(credentials: Credentials) -> Iterator[Callable[..., FakeService]]:
    """Start the service of a replica; ``name`` is another than the first, None is plain HTTP."""
    started: list[FakeService] = []

    def start(answers: dict[str, tuple[int, str]], name: str | None = "replica-1") -> FakeService:
        tls = None if name is None else replica_tls(credentials, name)
        started.append(FakeService(answers, tls))
        return started[-1]

    yield start
    for service in started:
        service.close()


@pytest.fixture
def start_host(
    credentials: Credentials,
) -> Iterator[Callable[[str, dict[int, int]], tuple[HostOutput, SshHost]]]:
    """Start the SSH server of a replica; ports are admin port -> port on loopback."""
    started: list[SshHost] = []

    def start(name: str, ports: dict[int, int]) -> tuple[HostOutput, SshHost]:
        server = SshHost(
            credentials.ssh_public_key, {(ADDRESS, port): real for port, real in ports.items()}
        )
        started.append(server)
        output = HostOutput(
            name=name,
            role=HostRole.REPLICA,
            ssh=SshOutput(
                address="127.0.0.1", port=server.port, user="ops", host_key=server.host_key
            ),
            private_address=ADDRESS,
        )
        return output, server

    yield start
    for server in started:
        server.close()


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Give a port that accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])
