"""Ranged reads over HTTP: right servers, and each way in which one can be wrong."""

import itertools
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

import pytest

from tests.resolve.weights_server import WeightsServer
from warmfleet.resolve.http_store import HttpStore
from warmfleet.resolve.store import Chunk, SourceMissingError, SourceUnreachableError

CONTENT = bytes(range(256)) * 4


def _store(
    server: WeightsServer,
    *,
    token: str | None = None,
    limit_s: float = 30,
    silence_s: float = 10,
) -> HttpStore:
    return HttpStore(server.url, token=token, limit_s=limit_s, silence_s=silence_s)


def _answer(
    status: int, headers: dict[str, str], body: bytes = b""
) -> Callable[[BaseHTTPRequestHandler], None]:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            if value:
                handler.send_header(name, value)
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@pytest.mark.parametrize(
    ("start", "length", "part"),
    [(0, 8, CONTENT[:8]), (1000, 10, CONTENT[1000:1010]), (1020, 100, CONTENT[1020:])],
)
def test_a_part_travels_and_no_more(
    server: WeightsServer, start: int, length: int, part: bytes
) -> None:
    server.files["/a/w.bin"] = CONTENT

    with _store(server) as store:
        assert store.read("a/w.bin", start=start, length=length) == Chunk(part, 1024)

    assert server.sent == len(part)


@pytest.mark.parametrize("length", ["1024", ""])
def test_a_server_that_gives_whole_files_is_read_to_the_part(
    server: WeightsServer, length: str
) -> None:
    server.answers["/w.bin"] = _answer(200, {"Content-Length": length}, CONTENT)

    with _store(server) as store:
        assert store.read("w.bin", start=1000, length=100) == Chunk(CONTENT[1000:], 1024)


def test_the_size_of_a_file_must_be_known(server: WeightsServer) -> None:
    server.answers["/w.bin"] = _answer(200, {"Content-Length": ""}, CONTENT)

    with (
        _store(server) as store,
        pytest.raises(ValueError, match=r"w\.bin: found no Content-Length; needed the size"),
    ):
        store.read("w.bin", start=0, length=100)


def test_a_large_file_is_not_read_through(server: WeightsServer) -> None:
    server.answers["/w.bin"] = _answer(200, {"Content-Length": str(10**10)})

    with (
        _store(server) as store,
        pytest.raises(ValueError, match="found a server without ranged reads; needed one with"),
    ):
        store.read("w.bin", start=10**9, length=8)


@pytest.mark.parametrize(
    ("status", "error", "said"),
    [
        (404, SourceMissingError, "http://127.0.0.1:PORT/w.bin"),
        (410, SourceMissingError, "http://127.0.0.1:PORT/w.bin"),
        (
            401,
            SourceUnreachableError,
            "http://127.0.0.1:PORT/w.bin: found HTTP status 401",
        ),
        (
            503,
            SourceUnreachableError,
            "http://127.0.0.1:PORT/w.bin: found HTTP status 503 (3 tries)",
        ),
        (418, ValueError, "http://127.0.0.1:PORT/w.bin: found HTTP status 418; needed 200 or 206"),
        (416, Chunk, ""),
    ],
)
def test_a_status_is_told(server: WeightsServer, status: int, error: type, said: str) -> None:
    server.answers["/w.bin"] = _answer(status, {})

    with _store(server) as store:
        if error is Chunk:
            assert store.read("w.bin", start=0, length=8) == Chunk(b"", 0)
            return
        with pytest.raises(error) as caught:
            store.read("w.bin", start=0, length=8)
    assert str(caught.value) == said.replace("PORT", str(server.port))
    assert len(server.requests) == (3 if "tries" in said else 1)


@pytest.mark.parametrize(
    "placed", ["", "bytes 1-8/1024", "bytes 0-7/*", "items 0-7/1024", "bytes 0-7/-1"]
)
def test_a_part_that_is_not_the_one_asked_for_is_refused(
    server: WeightsServer, placed: str
) -> None:
    server.answers["/w.bin"] = _answer(206, {"Content-Range": placed}, CONTENT[:8])

    with (
        _store(server) as store,
        pytest.raises(
            ValueError, match=r"found Content-Range .*; needed one from byte 0, with the"
        ),
    ):
        store.read("w.bin", start=0, length=8)


def test_a_part_that_is_cut_is_asked_for_again(server: WeightsServer) -> None:
    cut = _answer(206, {"Content-Range": "bytes 0-7/1024"}, CONTENT[:5])
    whole = _answer(206, {"Content-Range": "bytes 0-7/1024"}, CONTENT[:8])
    answers = [cut, _answer(500, {}), whole]

    def answer(handler: BaseHTTPRequestHandler) -> None:
        answers.pop(0)(handler)

    server.answers["/w.bin"] = answer

    with _store(server) as store:
        assert store.read("w.bin", start=0, length=8) == Chunk(CONTENT[:8], 1024)

    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("length", "said"),
    [
        ("5", r"found 5 bytes; needed 8, as its headers say \(3 tries\)"),
        ("8", r"peer closed connection .*\(3 tries\)"),
    ],
)
def test_a_server_that_always_cuts_is_told(server: WeightsServer, length: str, said: str) -> None:
    placed = {"Content-Range": "bytes 0-7/1024", "Content-Length": length}
    server.answers["/w.bin"] = _answer(206, placed, CONTENT[:5])

    with _store(server) as store, pytest.raises(SourceUnreachableError, match=said):
        store.read("w.bin", start=0, length=8)


def test_a_server_that_falls_silent_is_left(server: WeightsServer) -> None:
    def silent(handler: BaseHTTPRequestHandler) -> None:
        server.stopped.wait(20)
        handler.close_connection = True

    server.answers["/w.bin"] = silent

    with (
        _store(server, silence_s=0.05) as store,
        pytest.raises(SourceUnreachableError, match="timed out"),
    ):
        store.read("w.bin", start=0, length=8)


def test_a_server_that_drips_is_left(server: WeightsServer) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(206)
        handler.send_header("Content-Range", "bytes 0-1023/1024")
        handler.send_header("Content-Length", "1024")
        handler.end_headers()
        for _ in itertools.takewhile(lambda _: not server.stopped.wait(0.02), range(1024)):
            handler.wfile.write(b"x")

    server.answers["/w.bin"] = drip

    with (
        _store(server, limit_s=0.05) as store,
        pytest.raises(SourceUnreachableError, match=r"found \d+ bytes in 0\.05 s; needed 1024"),
    ):
        store.read("w.bin", start=0, length=1024)


def test_nobody_there_is_told(server: WeightsServer) -> None:
    server.stop()

    with (
        _store(server) as store,
        pytest.raises(SourceUnreachableError, match=r"/w: .*refused.* \(3 tries\)"),
    ):
        store.read("w", start=0, length=1)


def test_redirects_end(server: WeightsServer) -> None:
    server.answers["/w.bin"] = _answer(302, {"Location": "/w.bin"})

    with (
        _store(server) as store,
        pytest.raises(SourceUnreachableError, match=r"w\.bin: found more than 5 redirects$"),
    ):
        store.read("w.bin", start=0, length=8)
    assert len(server.requests) == 6


def test_the_hub_states_hash_and_commit_before_it_redirects(server: WeightsServer) -> None:
    server.files["/cdn/w.bin"] = CONTENT
    server.headers["X-Linked-Etag"] = '"the wrong one"'
    linked = {"X-Linked-Etag": f'"{"a" * 64}"', "X-Repo-Commit": "b" * 40}
    server.answers["/w.bin"] = _answer(302, {"Location": "/cdn/w.bin", **linked})

    with _store(server) as store:
        found = store.read("w.bin", start=0, length=8)

    assert (found.sha256, found.revision) == ("a" * 64, "b" * 40)


def test_a_token_goes_to_its_host_alone(
    server: WeightsServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    server.files["/cdn/w.bin"] = CONTENT
    elsewhere = f"http://localhost:{server.port}/cdn/w.bin"
    server.answers["/w.bin"] = _answer(302, {"Location": elsewhere})

    with _store(server, token="hf_secret") as store:
        store.read("w.bin", start=0, length=8)

    sent = [request.headers.get("Authorization") for request in server.requests]
    assert sent == ["Bearer hf_secret", None]
    assert "hf_secret" not in caplog.text
