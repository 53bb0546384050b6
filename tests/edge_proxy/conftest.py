"""One nginx for the whole room; every test brings its own fake replicas."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.edge_proxy.clients import PROBE_INTERVAL_S, READ_TIMEOUT_S, wait_for_health
from tests.edge_proxy.fake_replica import FakeReplica
from tests.edge_proxy.gateway import API_KEY, Gateway

Fleet = Callable[..., Awaitable[list[FakeReplica]]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let a fake be cut in a handshake: asyncio knows of no way to close such a connection."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    gateway = Gateway(
        tmp_path_factory.mktemp("gateway"),
        {
            "edge_proxy_generation_s": 2.5,
            "edge_proxy_read_timeout_s": READ_TIMEOUT_S,
            "edge_proxy_connect_timeout_s": 0.5,
            "edge_proxy_probe_interval_s": PROBE_INTERVAL_S,
            "edge_proxy_probe_timeout_s": 1.0,
            "edge_proxy_queue_timeout_s": 2.0,
            "edge_proxy_queue_size": 4,
            "edge_proxy_max_body_bytes": 1_000_000,
        },
    )
    gateway.start()
    yield gateway
    gateway.stop()


@pytest.fixture
async def client(gateway: Gateway) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(
        base_url=gateway.url,
        connector=aiohttp.TCPConnector(ssl=gateway.tls(), limit=0),
        headers={"Authorization": f"Bearer {API_KEY}"},
        timeout=aiohttp.ClientTimeout(total=20),
    ) as session:
        yield session


@pytest.fixture
async def fleet(gateway: Gateway, client: aiohttp.ClientSession) -> AsyncIterator[Fleet]:
    """Start fake replicas, make them the members and wait until the proxy knows their state."""
    started: list[FakeReplica] = []

    async def start(*replicas: FakeReplica, cold: bool = False) -> list[FakeReplica]:
        for replica in replicas:
            started.append(replica)
            replica.tls = replica.tls or gateway.replica_tls(replica.name)
            await replica.start()
            replica.ready = not cold
        gateway.set_members([replica.entry() for replica in replicas])
        await wait_for_health(client, 503 if cold else 200)
        await asyncio.sleep(1.5 * PROBE_INTERVAL_S)
        return list(replicas)

    yield start
    for replica in started:
        await replica.stop()
    gateway.set_members([{**replica.entry(), "port": 1, "admin_port": 1} for replica in started])
    await wait_for_health(client, 503)
