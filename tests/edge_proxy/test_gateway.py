"""The path of one request: key, errors, ids, streaming, cancel."""

import asyncio
import json
import ssl
import time
import warnings

import aiohttp
import pytest

from tests.edge_proxy.clients import READ_TIMEOUT_S, chat, connect, post_and_leave
from tests.edge_proxy.conftest import Fleet
from tests.edge_proxy.fake_replica import FakeReplica
from tests.edge_proxy.gateway import API_KEY, CONFIGURATION, Gateway

pytestmark = pytest.mark.machine


@pytest.mark.parametrize(
    "header",
    ["", f"Bearer {API_KEY}x", "Bearer ", f"Basic {API_KEY}", API_KEY, f"Bearer a {API_KEY}"],
)
async def test_wrong_key_is_refused_before_a_replica_sees_it(
    client: aiohttp.ClientSession, fleet: Fleet, header: str
) -> None:
    (replica,) = await fleet(FakeReplica("a"))
    async with client.post(
        "/v1/chat/completions", json={}, headers={"Authorization": header}
    ) as response:
        assert response.status == 401
        assert response.headers["WWW-Authenticate"] == "Bearer"
        error = (await response.json())["error"]
    assert error["code"] == "invalid_api_key"
    assert error["type"] == "authentication_error"
    assert replica.served == []


async def test_right_key_reaches_the_replica_and_stays_at_the_gateway(
    client: aiohttp.ClientSession, fleet: Fleet, gateway: Gateway
) -> None:
    (replica,) = await fleet(FakeReplica("a"))
    async with client.post(
        "/v1/chat/completions",
        json={"events": 2, "prompt": "canary-prompt"},
        headers={"X-Request-Id": "req-1"},
    ) as response:
        assert response.status == 200
        assert await response.json() == {"content": "token token "}
        assert response.headers["X-Warmfleet-Replica"] == "a"
        assert response.headers.getall("X-Request-Id") == ["req-1"]
    assert replica.headers[0]["X-Request-Id"] == "req-1"
    assert "Authorization" not in replica.headers[0]
    log = (gateway.root / "access.log").read_text() + gateway.error_log()
    assert API_KEY not in log
    assert "canary-prompt" not in log
    entry = gateway.access_log()[-1]
    assert (entry["request_id"], entry["key"], entry["status"]) == ("req-1", "default", 200)


async def test_odd_request_id_is_replaced(client: aiohttp.ClientSession, fleet: Fleet) -> None:
    (replica,) = await fleet(FakeReplica("a"))
    async with client.get("/v1/models", headers={"X-Request-Id": 'a"b c'}) as response:
        given = response.headers["X-Request-Id"]
    assert len(given) == 32
    assert replica.headers[0]["X-Request-Id"] == given


async def test_pages_that_need_no_key(gateway: Gateway, fleet: Fleet) -> None:
    (replica,) = await fleet(FakeReplica("a"))
    async with aiohttp.ClientSession(
        gateway.url, connector=aiohttp.TCPConnector(ssl=gateway.tls())
    ) as anonymous:
        async with anonymous.get("/") as response:
            assert response.status == 200
            assert "OpenAI-compatible" in await response.text()
            assert response.headers["Server"] == "nginx"
            assert response.headers["X-Warmfleet-Configuration"] == CONFIGURATION
            assert len(response.headers.getall("X-Request-Id")) == 1
        async with anonymous.get("/healthz") as response:
            assert await response.json() == {"status": "ready"}
        async with anonymous.get("/metrics") as response:
            assert response.status == 404
            assert (await response.json())["error"]["code"] == "not_found"
    assert replica.headers == []


async def test_large_body_is_refused_in_the_clients_form(
    client: aiohttp.ClientSession, fleet: Fleet
) -> None:
    (replica,) = await fleet(FakeReplica("a"))
    async with client.post("/v1/chat/completions", data=b"x" * 1_000_001) as response:
        assert response.status == 413
        assert "1000000 bytes" in (await response.json())["error"]["message"]

    async def pieces():
        for _ in range(12):
            yield b"x" * 100_000

    async with client.post("/v1/chat/completions", data=pieces()) as response:
        assert response.status == 413
    assert replica.served == []


async def test_body_that_spills_to_disk_arrives_whole(
    client: aiohttp.ClientSession, fleet: Fleet
) -> None:
    await fleet(FakeReplica("a"))
    async with chat(client, events=3, prompt="y" * 900_000) as response:
        assert await response.json() == {"content": "token " * 3}


async def test_first_event_is_not_held_back(client: aiohttp.ClientSession, fleet: Fleet) -> None:
    await fleet(FakeReplica("a"))
    started = time.monotonic()
    async with chat(client, stream=True, events=2, gap_s=1.0) as response:
        assert await response.content.readuntil(b"\n\n") == b"data: 0\n\n"
        first = time.monotonic() - started
        assert await response.content.readuntil(b"\n\n") == b"data: 1\n\n"
        second = time.monotonic() - started
    assert first < 0.5
    assert second > 0.9


async def test_silence_just_under_the_read_timeout_is_borne(
    client: aiohttp.ClientSession, fleet: Fleet
) -> None:
    await fleet(FakeReplica("a"))
    async with chat(
        client, stream=True, events=2, pause_s=0.8 * READ_TIMEOUT_S, gap_s=0.1
    ) as response:
        assert (await response.read()).endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("stream", [True, False])
async def test_disconnect_reaches_the_replica(gateway: Gateway, fleet: Fleet, stream: bool) -> None:
    (replica,) = await fleet(FakeReplica("a"))
    left = asyncio.Event()
    script = {"stream": True, "gap_s": 2} if stream else {"stream": False, "pause_s": 2}
    request = asyncio.create_task(post_and_leave(gateway, left, **script))
    async with asyncio.timeout(2):
        await replica.started.wait()
    await asyncio.sleep(0.1)
    left.set()
    leaving = time.monotonic()
    async with asyncio.timeout(1):
        await replica.cancelled.wait()
    assert time.monotonic() - leaving < 0.25
    await request


async def test_models_are_told_apart_by_the_body(
    client: aiohttp.ClientSession, fleet: Fleet
) -> None:
    await fleet(FakeReplica("a", model="chat"), FakeReplica("b", model="code"))
    for model, expected in (("chat", "a"), ("code", "b"), ("code", "b"), ("chat", "a")):
        # The long prompt is past the buffer in memory: the body is then a file.
        for prompt in ("short", "z" * 700_000):
            async with chat(client, model=model, prompt=prompt) as response:
                assert response.headers["X-Warmfleet-Replica"] == expected
    async with chat(client, model="math") as response:
        assert response.status == 404
        error = (await response.json())["error"]
    assert error["code"] == "model_not_found"
    assert "chat, code" in error["message"]
    async with client.post("/v1/chat/completions", data=b"{") as response:
        assert response.status == 400
        assert (await response.json())["error"]["code"] == "model_required"


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/embeddings"])
async def test_every_request_with_a_body_is_routed_by_it(
    client: aiohttp.ClientSession, fleet: Fleet, path: str
) -> None:
    await fleet(FakeReplica("a", model="chat"), FakeReplica("b", model="code"))
    for model, expected in (("chat", "a"), ("code", "b")):
        async with client.post(path, json={"model": model}) as response:
            assert response.headers["X-Warmfleet-Replica"] == expected
    async with client.post(path, json={"model": "math"}) as response:
        assert (await response.json())["error"]["code"] == "model_not_found"


async def test_all_models_are_listed(client: aiohttp.ClientSession, fleet: Fleet) -> None:
    replicas = await fleet(FakeReplica("a", model="chat"), FakeReplica("b", model="code"))
    async with client.get("/v1/models") as response:
        listed = await response.json()
    assert listed["object"] == "list"
    assert [entry["id"] for entry in listed["data"]] == ["chat", "code"]
    assert {entry["object"] for entry in listed["data"]} == {"model"}
    for model, replica in zip(("chat", "code"), replicas, strict=True):
        asked = len(replica.headers)
        async with client.get(f"/v1/models/{model}") as response:
            assert response.status == 200
        assert len(replica.headers) == asked + 1
    async with client.get("/v1/models/math") as response:
        assert response.status == 404
        assert (await response.json())["error"]["code"] == "model_not_found"


async def test_a_replica_learns_the_name_of_the_key_from_the_gateway_alone(
    client: aiohttp.ClientSession, fleet: Fleet
) -> None:
    (replica,) = await fleet(FakeReplica("a"))
    async with client.post(
        "/v1/chat/completions", json={}, headers={"X-Warmfleet-Key": "other"}
    ) as response:
        assert response.status == 200
    assert replica.headers[0].getall("X-Warmfleet-Key") == ["default"]


async def test_the_wait_for_a_replica_counts_in_the_time_limit_of_a_request(
    client: aiohttp.ClientSession, fleet: Fleet
) -> None:
    (replica,) = await fleet(FakeReplica("a"), cold=True)

    async def warm_up() -> None:
        await asyncio.sleep(0.5)
        replica.ready = True

    warming = asyncio.create_task(warm_up())
    headers = {"X-Request-Timeout": "20"}
    async with client.post("/v1/chat/completions", json={}, headers=headers) as response:
        assert response.status == 200
    await warming
    assert 15 < float(replica.headers[0]["X-Request-Timeout"]) < 19.6


async def test_a_time_limit_that_ends_here_is_told_as_replicas_tell_it(
    client: aiohttp.ClientSession, fleet: Fleet
) -> None:
    await fleet(FakeReplica("a"), cold=True)
    headers = {"X-Request-Timeout": "0.2"}
    async with client.post("/v1/chat/completions", json={}, headers=headers) as response:
        assert response.status == 504
        assert (await response.json())["error"]["code"] == "deadline_exceeded"
        assert response.headers["X-Should-Retry"] == "false"
        assert "Retry-After" not in response.headers


@pytest.mark.parametrize("limit", ["-5", "nan", "soon"])
async def test_what_is_no_time_limit_is_left_to_the_replica(
    client: aiohttp.ClientSession, fleet: Fleet, limit: str
) -> None:
    (replica,) = await fleet(FakeReplica("a"), cold=True)
    headers = {"X-Request-Timeout": limit}
    asked = asyncio.create_task(client.post("/v1/chat/completions", json={}, headers=headers))
    await asyncio.sleep(0.2)  # it waits; or was sent away at once, and that shows
    replica.ready = True
    async with await asked as response:
        assert response.status == 200
    assert replica.headers[0]["X-Request-Timeout"] == limit


async def test_http2_and_modern_tls_only(gateway: Gateway) -> None:
    context = gateway.tls()
    context.set_alpn_protocols(["h2", "http/1.1"])
    async with connect(gateway, context) as (_, writer):
        tls = writer.get_extra_info("ssl_object")
        assert (tls.selected_alpn_protocol(), tls.version()) == ("h2", "TLSv1.3")
    assert not await _speaks(gateway, ssl.TLSVersion.TLSv1_1)
    assert await _speaks(gateway, ssl.TLSVersion.TLSv1_2)


async def test_malformed_request_gets_the_same_form(gateway: Gateway) -> None:
    async with connect(gateway, gateway.tls()) as (reader, writer):
        writer.write(b"GET / HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n")
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert json.loads(body)["error"]["code"] == "bad_request"


async def _speaks(gateway: Gateway, version: ssl.TLSVersion) -> bool:
    context = gateway.tls()
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that it is old is the point
        context.minimum_version = context.maximum_version = version
    try:
        async with connect(gateway, context):
            return True
    except (ssl.SSLError, ConnectionError):
        return False
