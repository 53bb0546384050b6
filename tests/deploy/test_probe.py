"""The probe must tell a good answer from every way an endpoint can be wrong, in one line."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from warmfleet.deploy.first_request import measure_first_requests
from warmfleet.deploy.probe import Endpoint
from warmfleet.errors import EndpointError
from warmfleet.project import Project
from warmfleet.stack.credentials import Credentials

Reply = Callable[[BaseHTTPRequestHandler], None]


class FakeGateway:
    """Answers each request with the next reply of a list, the last one for ever."""

    def __init__(self, credentials: Credentials) -> None:
        self.replies: list[Reply] = []
        self.keys: list[str | None] = []
        gateway = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                gateway.keys.append(self.headers["Authorization"])
                gateway.replies[min(len(gateway.keys), len(gateway.replies)) - 1](self)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(credentials.server_certificate_file, credentials.server_key_file)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def credentials(tmp_path: Path) -> Credentials:
    return Credentials.ensure(Project(tmp_path), "lab", ["localhost", "127.0.0.1"], {})


@pytest.fixture
def gateway(credentials: Credentials) -> Iterator[FakeGateway]:
    gateway = FakeGateway(credentials)
    yield gateway
    gateway.server.shutdown()
    gateway.server.server_close()


@pytest.fixture
def endpoint(gateway: FakeGateway, credentials: Credentials) -> Endpoint:
    return Endpoint(gateway.url, credentials.ca_file, credentials.api_key_file, read_timeout_s=5)


def _stream(*events: object, replica: str = "replica-1") -> Reply:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("X-Warmfleet-Replica", replica)
        handler.send_header("Connection", "close")
        handler.end_headers()
        for event in events:
            data = event if isinstance(event, str) else json.dumps(event)
            handler.wfile.write(f"data: {data}\n\n".encode())

    return reply


def _piece(text: str) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": {"content": text}}]}


def _usage(tokens: int) -> dict[str, object]:
    return {"choices": [], "usage": {"completion_tokens": tokens}}


def _refuse(status: int, body: str) -> Reply:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body.encode())

    return reply


def test_an_answer_has_text_replica_tokens_and_times(
    gateway: FakeGateway, endpoint: Endpoint, credentials: Credentials
) -> None:
    gateway.replies = [_stream(_piece("warm "), _piece("start"), _usage(2), "[DONE]")]
    answer = endpoint.chat("chat", "why?", 8)
    assert (answer.text, answer.replica, answer.output_tokens) == ("warm start", "replica-1", 2)
    assert 0 < answer.ttft_s <= answer.total_s
    assert gateway.keys == [f"Bearer {credentials.api_key_file.read_text()}"]


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (
            _refuse(401, '{"error": {"message": "no such key"}}'),
            "answered 401 Unauthorized: no such key",
        ),
        (_refuse(502, "<html>bad gateway"), "answered 502 Bad Gateway: <html>bad gateway"),
        (_refuse(503, ""), "answered 503 Service Unavailable: empty body"),
        (_stream("{half"), "sent an event that is no chat completion"),
        (_stream({"choices": [{"index": 0}]}), "sent an event that is no chat completion"),
        (_stream(_piece("half")), "the stream ended without [DONE]"),
        (
            _stream(_piece("half"), {"error": {"message": "engine died"}}),
            "the stream ended with an error: engine died",
        ),
    ],
)
def test_what_went_wrong_is_said(
    gateway: FakeGateway, endpoint: Endpoint, reply: Reply, said: str
) -> None:
    gateway.replies = [reply]
    with pytest.raises(EndpointError) as raised:
        endpoint.chat("chat", "why?", 8)
    assert said in str(raised.value)


def test_a_certificate_of_another_authority_is_refused(
    gateway: FakeGateway, endpoint: Endpoint, tmp_path: Path
) -> None:
    other = Credentials.ensure(Project(tmp_path / "other"), "lab", ["127.0.0.1"], {})
    stranger = Endpoint(gateway.url, other.ca_file, endpoint.api_key_file, read_timeout_s=5)
    with pytest.raises(EndpointError, match="certificate verify failed"):
        stranger.chat("chat", "why?", 8)
    assert gateway.keys == []  # the key never left


def test_nobody_there_is_one_line(credentials: Credentials) -> None:
    nobody = Endpoint("https://127.0.0.1:1", credentials.ca_file, credentials.api_key_file, 5)
    with pytest.raises(EndpointError, match="Connection refused"):
        nobody.chat("chat", "why?", 8)


def test_first_requests_are_told_apart_by_replica(gateway: FakeGateway, endpoint: Endpoint) -> None:
    answers = [
        _stream(_piece("a"), _piece("b"), _usage(2), "[DONE]", replica=f"replica-{n % 2 + 1}")
        for n in range(20)
    ]
    gateway.replies = answers
    seen = []
    measured = measure_first_requests(endpoint, "chat", 2, seen.append)
    assert [first.replica for first in measured] == ["replica-1", "replica-2"]
    assert [first.steady_n for first in measured] == [4, 4]
    assert len(seen) == 10
    assert measured[0].first_s == seen[0].time_to(16)


def test_a_replica_that_never_answers_is_left_out_in_bounded_time(
    gateway: FakeGateway, endpoint: Endpoint
) -> None:
    gateway.replies = [_stream(_piece("a"), _usage(1), "[DONE]")]
    measured = measure_first_requests(endpoint, "chat", 2, lambda _: None)
    assert [first.replica for first in measured] == ["replica-1"]
    assert len(gateway.keys) == 20
