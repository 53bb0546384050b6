"""A server of weights on loopback, right by default and wrong where a test says so."""

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["Request", "WeightsServer"]


@dataclass(frozen=True)
class Request:
    """What a client asked."""

    path: str
    headers: dict[str, str]


Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class WeightsServer:
    """Serves ``files`` by ranges; ``answers`` replace the whole answer of a path."""

    files: dict[str, bytes] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    sent: int = 0

    def __post_init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.stopped = threading.Event()
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()

    def ranged(self, handler: BaseHTTPRequestHandler, content: bytes) -> None:
        """Answer with the part that was asked for."""
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", handler.headers.get("Range", ""))
        assert asked is not None, "whole files must not travel"
        start, end = int(asked[1]), min(int(asked[2]) + 1, len(content))
        part = content[start:end]
        if not part:
            handler.send_response(416)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        handler.send_response(206)
        handler.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")
        handler.send_header("Content-Length", str(len(part)))
        # What clients of S3 need of an object.
        handler.send_header("ETag", '"1"')
        handler.send_header("Last-Modified", "Mon, 02 Nov 2026 00:00:00 GMT")
        for name, value in self.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        self.sent += len(part)
        handler.wfile.write(part)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server.requests.append(Request(self.path, dict(self.headers.items())))
                if self.path in server.answers:
                    server.answers[self.path](self)
                elif self.path in server.files:
                    server.ranged(self, server.files[self.path])
                else:
                    self.send_response(404)
                    self.send_header("Content-Length", "0")
                    self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        return Handler
