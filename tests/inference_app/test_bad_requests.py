"""Whatever a client sends, or does not: an answer in OpenAI's form or a closed connection."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inference_app import http_protocol
from inference_app.routes import generate
from tests.inference_app.bad_requests import PATHS, bodies, post, refused
from tests.inference_app.support import (
    MESSAGES,
    LocalReplica,
    ReplicaProcess,
    chat_body,
    eventually,
    local_replica,
    replica_process,
    settings_document,
)

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "bad_requests.yaml").read_text())
_ASKED = dict(
    zip(PATHS, ({"messages": MESSAGES}, {"prompt": "hello"}, {"input": "hello"}), strict=True)
)
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: test\r\n"
WHOLE = json.dumps(chat_body(max_tokens=2)).encode()


@pytest.fixture(scope="module")
def replica(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplicaProcess]:
    folder = tmp_path_factory.mktemp("bad-requests")
    with replica_process(folder, settings_document(folder, tokens_per_s=0)) as process:
        process.wait_ready()
        yield process
        assert process.process.poll() is None, process.log()
        assert "Traceback" not in process.log()


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(body=bodies, path=st.sampled_from(PATHS))
def test_no_body_breaks_the_service(replica: ReplicaProcess, body: bytes, path: str) -> None:
    status, answer = post(replica.base, body, path=path)
    if status != 200:
        refused(status, answer)
    assert replica.process.poll() is None, replica.log()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_wrong_field_is_told_in_full(replica: ReplicaProcess, case: dict) -> None:
    path = case.get("path", PATHS[0])
    document = {"model": "chat", "max_tokens": 2, **_ASKED[path], **case["set"]}
    status, answer = post(replica.base, json.dumps(document).encode(), path=path)
    error = refused(status, answer)
    assert error["message"] == case["error"]
    assert (status, error["param"], error["code"]) == (
        case.get("status", 400),
        case.get("param", case["error"].partition(":")[0]),
        case.get("code"),
    )


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (WHOLE[:-1] + b', "temperature": NaN}', "found NaN; needed a finite number"),
        (WHOLE[:-1] + b', "temperature": 1e999}', None),
        (WHOLE[:-1] + b', "x": 1e999}', "it holds a number that is too large"),
        (WHOLE[:-1] + b', "seed": ' + b"9" * 5000 + b"}", None),
        (WHOLE.replace(b"trees", b"tr\xffees"), "not UTF-8 text (byte "),
        (WHOLE.decode().encode("utf-16"), "not UTF-8 text (byte 0)"),
        (b"\xef\xbb\xbf" + WHOLE, "Unexpected UTF-8 BOM"),
        (WHOLE + WHOLE, "Extra data"),
        (WHOLE[:-1] + b', "tools": [' + b"1," * 9000 + b"1]}", None),
        *((WHOLE[:-1] + b', "x": ' + b"[" * n + b"]" * n + b"}", None) for n in (940, 960, 9000)),
        *((WHOLE[:-1] + b', "x": ' + b'{"a":' * n, None) for n in (940, 3000)),
    ],
    ids=range(14),
)
def test_a_body_that_is_hardly_json(
    replica: ReplicaProcess, raw: bytes, reason: str | None
) -> None:
    status, answer = post(replica.base, raw)
    if status == 200:
        assert reason is None
    else:
        assert (reason or "") in refused(status, answer)["message"]


@pytest.mark.parametrize("fields", [{"messages": None}, {"tools": 5}, {"input": {}}])
def test_fields_of_another_request_do_not_matter(
    replica: ReplicaProcess, fields: dict[str, object]
) -> None:
    body = {"model": "chat", "prompt": "hello", "max_tokens": 2, "tool_choice": "required"}
    raw = json.dumps(body | fields).encode()
    assert post(replica.base, raw, path="/v1/completions")[0] == 200


async def test_the_content_type_does_not_matter(replica: ReplicaProcess) -> None:
    async with aiohttp.ClientSession() as session:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "nonsense"):
            headers = {"content-type": kind}
            async with session.post(replica.chat_url, data=WHOLE, headers=headers) as response:
                assert response.status == 200


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),  # a TLS client
        (b"GET /v1/models HTTP/1.1\r\n\r\n", 400),  # no host
        (b"GET /v1/models\xff HTTP/1.1\r\nhost: a\r\n\r\n", 400),
        (b"GET /v1/models/%00%ff HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n", 404),
        (b"GET /v1/models HTTP/1.1\r\nhost: a\r\n" + b"x: y\r\n" * 20_000, 400),
        (b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\nhost: a\r\n\r\n", 400),
        (HEAD + b"content-length: nine\r\n\r\n", 400),
        (HEAD + b"content-length: -1\r\n\r\n", 400),
        (HEAD + b"content-length: 99999999999999999999\r\n\r\n", 413),
        (HEAD + b"transfer-encoding: gzip\r\n\r\n", 400),
        (HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n", 400),
        (HEAD + b"transfer-encoding: chunked\r\n\r\nffff0\r\n" + b"x" * 0xFFFF0, 413),
        (
            HEAD + b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n"
            + b"".join(b"1\r\n%c\r\n" % byte for byte in WHOLE) + b"0\r\n\r\n",
            200,
        ),
    ],
    ids=range(14),
)  # fmt: skip
async def test_what_is_hardly_http(
    replica: ReplicaProcess, request_bytes: bytes, status: int
) -> None:
    answer = await _exchange(replica.document["traffic"]["port"], request_bytes)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), answer[:300]
    if status != 200:
        assert b"content-type: application/json" in head.lower()
        assert set(json.loads(body)["error"]) == {"message", "type", "param", "code"}
    log = replica.log()
    assert "Traceback" not in log
    assert "Fatal error" not in log


async def _exchange(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        with contextlib.suppress(ConnectionError):
            writer.write(request)
            await writer.drain()
        async with asyncio.timeout(10):
            return await _read_what_comes(reader)
    finally:
        writer.transport.abort()
        await asyncio.sleep(0)


async def _read_what_comes(reader: asyncio.StreamReader) -> bytes:
    answer = b""
    with contextlib.suppress(ConnectionError):  # it may be reset with our bytes unread
        while chunk := await reader.read(65536):
            answer += chunk
            if b"}}" in answer:
                break
    return answer


@pytest.fixture
async def impatient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LocalReplica]:
    monkeypatch.setattr(http_protocol, "_HEAD_S", 0.3)
    monkeypatch.setattr(generate, "_BODY_S", 0.3)
    document = settings_document(tmp_path, tokens_per_s=0)
    document["timeouts"]["generation_s"] = 1.0
    document["limits"] |= {"max_output_tokens": 400_000, "max_in_flight": 1}
    document["engine"]["context_tokens"] = 500_000
    async with local_replica(document) as replica:
        yield replica


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"", None),
        (b"PO", None),
        (HEAD, None),
        (HEAD + b"content-length: 10\r\n\r\n{", 408),
        (HEAD + b"transfer-encoding: chunked\r\n\r\n5\r\n{", 408),
    ],
)
async def test_a_client_that_stops_sending_is_let_go(
    impatient: LocalReplica, sent: bytes, status: int | None
) -> None:
    port = impatient.service.traffic_port
    assert port is not None
    answer = await _exchange(port, sent)
    assert answer == b"" if status is None else answer.startswith(b"HTTP/1.1 %d " % status)
    await _answers(impatient)


async def test_a_client_that_trickles_its_second_head_is_let_go(impatient: LocalReplica) -> None:
    port = impatient.service.traffic_port
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /v1/models HTTP/1.1\r\nhost: a\r\n\r\n")
    assert (await reader.readuntil(b"}]}")).startswith(b"HTTP/1.1 200 ")
    await asyncio.sleep(0.5)  # an idle connection is kept for longer than a head may take
    writer.write(b"GET /v1/mod")
    async with asyncio.timeout(10):
        assert await reader.read() == b""
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


async def test_a_client_that_does_not_read_gives_its_place_back(impatient: LocalReplica) -> None:
    port = impatient.service.traffic_port
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    body = json.dumps(chat_body(max_tokens=400_000, stream=True)).encode()
    writer.write(HEAD + b"content-length: %d\r\n\r\n%s" % (len(body), body))
    await reader.readuntil(b"data: ")
    await eventually(lambda: _answers(impatient), "the place of the client that does not read")
    writer.transport.abort()
    await asyncio.sleep(0)


async def _answers(replica: LocalReplica) -> bool:
    async with (
        aiohttp.ClientSession() as session,
        session.post(replica.chat_url, json=chat_body(max_tokens=2)) as response,
    ):
        await response.read()
        return response.status == 200
