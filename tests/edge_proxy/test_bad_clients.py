"""Clients that no gateway wants are refused in OpenAI's form, and let go."""

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest

from tests.edge_proxy.clients import connect, wait_for_health
from tests.edge_proxy.conftest import Fleet
from tests.edge_proxy.fake_replica import FakeReplica
from tests.edge_proxy.gateway import API_KEY, Gateway

pytestmark = pytest.mark.machine

KEY = f"Authorization: Bearer {API_KEY}\r\n".encode()
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
BODY = json.dumps({"model": "chat", "events": 1}).encode()


@pytest.mark.parametrize(
    ("request_bytes", "status", "code"),
    [
        (b"nonsense\r\n\r\n", 400, "bad_request"),
        (b"GET /v1/models HTTP/9.9\r\nHost: a\r\n\r\n", 505, "bad_request"),
        (b"GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n", 400, "bad_request"),
        (b"GET /v1/%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad_request"),
        (b"GET /v1/../../etc HTTP/1.1\r\nHost: a\r\n\r\n", 400, "bad_request"),
        (b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414, "uri_too_long"),
        (
            b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: " + b"y" * 40_000 + b"\r\n\r\n",
            400,
            "headers_too_large",
        ),
        (HEAD + KEY + b"Content-Length: nine\r\n\r\n", 400, "bad_request"),
        (HEAD + KEY + b"Content-Length: -1\r\n\r\n", 400, "bad_request"),
        (HEAD + KEY + b"Content-Length: 99999999999\r\n\r\n", 413, "request_too_large"),
        (
            HEAD + KEY + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
            "bad_request",
        ),
        (HEAD + KEY + b"Transfer-Encoding: gzip\r\n\r\n", 501, "not_implemented"),
        (HEAD + KEY + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "bad_request"),
        (b"TRACE / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 405, "method_not_allowed"),
        (b"BREW / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 200, None),
        (HEAD + b"Authorization: Bearer \xff\xfe\r\n\r\n", 401, "invalid_api_key"),
        (HEAD + b"Authorization: " + b"Bearer " * 500 + b"\r\n\r\n", 401, "invalid_api_key"),
    ],
    ids=range(17),
)
async def test_what_is_hardly_http(
    gateway: Gateway, request_bytes: bytes, status: int, code: str | None
) -> None:
    answer = await _exchange(gateway, request_bytes)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), answer[:400]
    if code is not None:
        error = json.loads(body)["error"]
        assert set(error) == {"message", "type", "param", "code"}
        assert error["code"] == code


async def test_a_wrong_key_is_told_to_nobody(
    client: aiohttp.ClientSession, fleet: Fleet, gateway: Gateway
) -> None:
    await fleet(FakeReplica("a"))
    wrong = "wf-canary-that-is-wrong"
    for path in ("/v1/models", f"/v1/models?key={wrong}"):
        headers = {"Authorization": f"Bearer {wrong}"}
        async with client.get(path, headers=headers) as response:
            assert response.status == 401
            answer = await response.text() + str(response.headers)
        assert wrong not in answer
    assert wrong not in (gateway.root / "access.log").read_text() + gateway.error_log()


async def test_bodies_in_chunks_of_a_byte_arrive_whole(gateway: Gateway, fleet: Fleet) -> None:
    await fleet(FakeReplica("a"))
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n"
    answer = await _exchange(gateway, HEAD + KEY + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
    assert answer.startswith(b"HTTP/1.1 200 ")


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway whose patience with clients, 15 and 30 s else, is one second."""
    gateway = Gateway(
        tmp_path_factory.mktemp("impatient"),
        {"edge_proxy_send_timeout_s": 1.0, "edge_proxy_probe_interval_s": 0.2},
    )
    gateway.start(
        {
            "client_header_timeout 15s": "client_header_timeout 1s",
            "client_body_timeout 30s": "client_body_timeout 1s",
        }
    )
    yield gateway
    gateway.stop()


@pytest.fixture
async def replica(impatient: Gateway) -> AsyncIterator[FakeReplica]:
    replica = FakeReplica("slow")
    replica.tls = impatient.replica_tls("slow")
    await replica.start()
    replica.ready = True
    impatient.set_members([replica.entry()])
    async with aiohttp.ClientSession(
        impatient.url, connector=aiohttp.TCPConnector(ssl=impatient.tls())
    ) as client:
        await wait_for_health(client, 200)
    yield replica
    await replica.stop()


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /v1/chat/comp",
        HEAD,
        HEAD + KEY + b"Content-Length: 100\r\n\r\n{",
        HEAD + KEY + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
    ],
    ids=["nothing", "half a line", "half a head", "half a body", "half a chunk"],
)
async def test_a_client_that_stops_sending_is_let_go(
    impatient: Gateway, replica: FakeReplica, sent: bytes
) -> None:
    began = time.monotonic()
    answer = await _exchange(impatient, sent)
    assert 0.5 < time.monotonic() - began < 5
    assert answer == b"" or json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == (
        "request_timeout"
    )
    assert replica.served == []


async def test_a_client_that_trickles_its_head_is_let_go(
    impatient: Gateway, replica: FakeReplica
) -> None:
    async with connect(impatient, impatient.tls()) as (reader, writer):
        gone = asyncio.create_task(reader.read())
        async with asyncio.timeout(10):
            with contextlib.suppress(ConnectionError):
                while not gone.done():
                    writer.write(b"X")
                    await writer.drain()
                    await asyncio.sleep(0.1)
            with contextlib.suppress(ConnectionError):
                await gone
    assert replica.served == []


async def test_a_client_that_does_not_read_its_stream_frees_the_replica(
    impatient: Gateway, replica: FakeReplica
) -> None:
    body = json.dumps({"model": "chat", "stream": True, "events": 3_000_000}).encode()
    async with connect(impatient, impatient.tls()) as (reader, writer):
        writer.write(HEAD + KEY + b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        await reader.readuntil(b"data: 0")
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        writer.transport.pause_reading()
        async with asyncio.timeout(20):
            await replica.cancelled.wait()
    assert replica.in_flight == 0


async def _exchange(gateway: Gateway, request: bytes) -> bytes:
    async with connect(gateway, gateway.tls()) as (reader, writer):
        answer = b""
        with contextlib.suppress(ConnectionError):
            writer.write(request)
            await writer.drain()
            async with asyncio.timeout(10):
                while chunk := await reader.read(65536):
                    answer += chunk
                    if b"}}" in chunk:  # nginx waits five seconds for the rest of a refused body
                        break
        return answer
