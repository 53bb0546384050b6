"""TLS of a gateway's kind over any byte channel: what sockets can do, and SSH channels cannot."""

import io
import ssl
from collections.abc import Callable
from typing import Any, Protocol

from warmfleet.errors import StackError
from warmfleet.stack.credentials import Credentials

__all__ = ["TlsStream", "client_context"]

_BLOCK = 65536


class _Channel(Protocol):
    def recv(self, size: int) -> bytes: ...
    def sendall(self, data: bytes) -> None: ...


def client_context(credentials: Credentials) -> ssl.SSLContext:
    """Return what a client needs that replicas let in.

    Raises:
        StackError: a file is missing or damaged.
    """
    ca, certificate = credentials.fleet_ca_file, credentials.client_certificate_file
    try:
        context = ssl.create_default_context(cafile=str(ca))
        context.load_cert_chain(certificate, credentials.client_key_file)
    except OSError as error:
        # Python names neither file here. Older fleets have none of them.
        environment = credentials.folder.name
        msg = (
            f"credentials of {environment}: {ca} and {certificate} with its key: {error.strerror}; "
            f"needed: certificates that replicas trust; run `warmfleet up {environment}`"
        )
        raise StackError(msg) from error
    return context


class TlsStream(io.RawIOBase):
    """A client's end of one connection; closing it leaves the channel to its owner.

    Every method raises what the channel raises, and ``ssl.SSLError``.
    """

    def __init__(self, channel: _Channel, context: ssl.SSLContext, server_name: str) -> None:
        """Shake hands; the server must prove to be ``server_name``."""
        super().__init__()
        self._channel = channel
        self._received = ssl.MemoryBIO()
        self._to_send = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._received, self._to_send, server_hostname=server_name)
        self._run(self._tls.do_handshake)

    def sendall(self, data: bytes) -> None:
        """Send everything."""
        self._run(self._tls.write, data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return a file to read from, as ``http.client`` asks of a socket."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read at least one byte, or 0 at the end."""
        try:
            data = self._run(self._tls.read, len(buffer))
        except ssl.SSLZeroReturnError:
            return 0
        buffer[: len(data)] = data
        return len(data)

    def _run(self, step: Callable[..., Any], *arguments: Any) -> Any:
        """Take a step of TLS; between tries move what it has to send and wants to receive."""
        while True:
            try:
                return step(*arguments)
            except ssl.SSLWantReadError:
                pass
            finally:
                if pending := self._to_send.read():
                    self._channel.sendall(pending)
            if data := self._channel.recv(_BLOCK):
                self._received.write(data)
            else:
                self._received.write_eof()
