"""SSH servers on loopback that misbehave, each in one way; ``Misbehaving("hangs")`` and so on."""

import socket
import threading
from contextlib import suppress
from typing import Self

__all__ = ["WAYS", "Misbehaving"]

WAYS = ("hangs", "closes early", "floods its banner", "floods without lines", "stops after hello")
_LINES = b"Have a nice day, and read this.\r\n" * 64


class Misbehaving:
    """Takes connections on ``port`` and never lets anybody in; a context manager."""

    def __init__(self, way: str) -> None:
        self._way = way
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(0.2)
        with connection, suppress(BrokenPipeError, ConnectionResetError):
            if self._way == "closes early":
                return
            if self._way == "stops after hello":
                connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
            flood = {"floods its banner": _LINES, "floods without lines": b"x" * 4096}
            while not self._ended.is_set():
                with suppress(TimeoutError):
                    if data := flood.get(self._way):
                        connection.sendall(data)
                    elif not connection.recv(4096):
                        return
