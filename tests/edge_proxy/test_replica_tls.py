"""Gateway and replica prove to each other who they are; who cannot gets nothing, and a log line."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp
import pytest

from tests.edge_proxy.clients import PROBE_INTERVAL_S, chat
from tests.edge_proxy.conftest import Fleet
from tests.edge_proxy.fake_replica import FakeReplica
from tests.edge_proxy.gateway import Gateway

pytestmark = pytest.mark.machine

IMPOSTORS = ["of another fleet", "with another name", "with the endpoint's", "in plain HTTP"]
Serve = Callable[[str], ssl.SSLContext | None]


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Gateway:
    """The gateway of another fleet; it never runs, its credentials are what is needed."""
    return Gateway(tmp_path_factory.mktemp("other"))


@pytest.fixture
def serve(gateway: Gateway, other: Gateway) -> Serve:
    """Return what an impostor of some kind serves with."""

    def serve(kind: str) -> ssl.SSLContext | None:
        if kind == "of another fleet":
            return other.replica_tls("b")
        if kind == "with another name":
            return gateway.replica_tls("c")
        if kind == "in plain HTTP":
            return None
        context = gateway.replica_tls("b")
        credentials = gateway.credentials()
        context.load_cert_chain(credentials.server_certificate_file, credentials.server_key_file)
        return context

    return serve


@asynccontextmanager
async def joined(
    gateway: Gateway, member: FakeReplica, newcomer: FakeReplica
) -> AsyncIterator[None]:
    """Make a ready newcomer a member beside another."""
    await newcomer.start()
    newcomer.ready = True
    gateway.set_members([member.entry(), newcomer.entry()])
    try:
        async with asyncio.timeout(10):
            while not told(gateway, newcomer):  # noqa: ASYNC110 - a file has no Event
                await asyncio.sleep(0.05)
        await asyncio.sleep(3 * PROBE_INTERVAL_S)  # so many probes more, and still one line of log
        yield
    finally:
        await newcomer.stop()


def told(gateway: Gateway, replica: FakeReplica) -> list[str]:
    """Return what the log says of a replica."""
    mark = f"replica {replica.name} at 127.0.0.1:{replica.port}: "
    return [
        line.partition(mark)[2].partition(", context")[0]
        for line in gateway.error_log().splitlines()
        if mark in line
    ]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("of another fleet", "self-signed certificate in certificate chain"),
        ("with another name", "certificate host mismatch"),
        ("with the endpoint's", "unable to verify the first certificate"),
        ("in plain HTTP", "handshake failed"),
    ],
)
async def test_impostor_gets_no_request_and_one_line_of_log(
    client: aiohttp.ClientSession,
    fleet: Fleet,
    gateway: Gateway,
    serve: Serve,
    kind: str,
    reason: str,
) -> None:
    (member,) = await fleet(FakeReplica("a"))
    impostor = FakeReplica("b", tls=serve(kind))
    async with joined(gateway, member, impostor):
        for _ in range(4):
            async with chat(client) as response:
                assert response.headers["X-Warmfleet-Replica"] == "a"
        (line,) = told(gateway, impostor)
        assert line.startswith("not ready (")
        assert reason in line
    assert impostor.served == []


@pytest.mark.parametrize("kind", IMPOSTORS)
async def test_impostor_on_the_traffic_port_alone_gets_no_request(
    client: aiohttp.ClientSession, fleet: Fleet, gateway: Gateway, serve: Serve, kind: str
) -> None:
    (member,) = await fleet(FakeReplica("a"))
    impostor = FakeReplica("b", tls=serve(kind), admin_tls=gateway.replica_tls("b"))
    async with joined(gateway, member, impostor):
        for _ in range(4):
            async with chat(client) as response:
                assert response.headers["X-Warmfleet-Replica"] == "a"
        assert told(gateway, impostor) == ["ready"]
        mark = f'upstream: "https://127.0.0.1:{impostor.port}/'
        assert [line for line in gateway.error_log().splitlines() if mark in line and "SSL" in line]
    assert impostor.served == []


async def test_replica_of_another_fleet_gives_this_gateway_nothing(
    client: aiohttp.ClientSession, fleet: Fleet, gateway: Gateway, other: Gateway
) -> None:
    (member,) = await fleet(FakeReplica("a"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    credentials = gateway.credentials("b")
    context.load_cert_chain(
        credentials.replica_certificate_file("b"), credentials.replica_key_file("b")
    )
    context.load_verify_locations(other.credentials().fleet_ca_file)
    context.verify_mode = ssl.CERT_REQUIRED
    stranger = FakeReplica("b", tls=context)
    async with joined(gateway, member, stranger):
        async with chat(client) as response:
            assert response.headers["X-Warmfleet-Replica"] == "a"
        (line,) = told(gateway, stranger)
        assert line.startswith("not ready (")
    assert stranger.served == []


async def test_requests_share_a_kept_connection(
    client: aiohttp.ClientSession, fleet: Fleet
) -> None:
    (replica,) = await fleet(FakeReplica("a"))
    for _ in range(20):
        async with chat(client) as response:
            assert response.status == 200
    assert len(replica.connections) == 1
