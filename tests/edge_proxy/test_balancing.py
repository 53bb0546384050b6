"""Which replica a request meets, and what a replica that goes or fails costs its users."""

import asyncio
import itertools
import time
from collections.abc import Callable

import aiohttp
import pytest

from tests.edge_proxy.clients import (
    PROBE_INTERVAL_S,
    READ_TIMEOUT_S,
    Load,
    chat,
    post_and_leave,
    status_of,
    until,
    wait_for_health,
)
from tests.edge_proxy.conftest import Fleet
from tests.edge_proxy.fake_replica import FakeReplica
from tests.edge_proxy.gateway import Gateway

pytestmark = pytest.mark.machine


async def test_equals_take_turns(client: aiohttp.ClientSession, fleet: Fleet) -> None:
    replicas = await fleet(*(FakeReplica(name) for name in "abc"))
    for _ in range(9):
        async with chat(client) as response:
            assert response.status == 200
    assert [len(replica.served) for replica in replicas] == [3, 3, 3]


async def test_busy_replica_gets_less(client: aiohttp.ClientSession, fleet: Fleet) -> None:
    busy, free = await fleet(FakeReplica("busy"), FakeReplica("free"))
    slow = [asyncio.create_task(status_of(client, pause_s=2.0)) for _ in range(4)]
    await until(lambda: busy.in_flight + free.in_flight == 4)
    assert (busy.in_flight, free.in_flight) == (2, 2)
    await asyncio.gather(*slow)
    long = asyncio.create_task(status_of(client, pause_s=2.0))
    await until(lambda: busy.in_flight + free.in_flight == 1)
    holder, other = (busy, free) if busy.in_flight else (free, busy)
    served = len(holder.served)
    assert [await status_of(client) for _ in range(6)] == [200] * 6
    assert len(holder.served) == served
    assert len(other.served) >= 6
    await long


async def test_cold_replica_never_gets_a_request(
    client: aiohttp.ClientSession, fleet: Fleet, gateway: Gateway
) -> None:
    (warm,) = await fleet(FakeReplica("warm"))
    cold = FakeReplica("cold", tls=gateway.replica_tls("cold"))
    await cold.start()
    gateway.set_members([warm.entry(), cold.entry()])
    try:
        async with Load(client, clients=8) as outcomes:
            await asyncio.sleep(1.5)
            assert cold.served == []
            cold.ready = True
            await asyncio.sleep(1.5)
        assert cold.served
        assert cold.cold_hits == 0
        assert set(outcomes) == {200}
    finally:
        await cold.stop()


async def test_membership_changes_without_a_reload(
    client: aiohttp.ClientSession, fleet: Fleet, gateway: Gateway
) -> None:
    first, second = await fleet(FakeReplica("first"), FakeReplica("second"))
    master = (gateway.root / "nginx.pid").read_text()
    async with Load(client, clients=8) as outcomes:
        for members in ([first], [second], [first, second], [second, first]) * 2:
            gateway.set_members([member.entry() for member in members])
            await asyncio.sleep(PROBE_INTERVAL_S)
    assert set(outcomes) == {200}
    gateway.set_members([second.entry()])
    await asyncio.sleep(1.5 * PROBE_INTERVAL_S)
    seen = len(first.served)
    assert [await status_of(client) for _ in range(4)] == [200] * 4
    assert len(first.served) == seen
    assert (gateway.root / "nginx.pid").read_text() == master


async def test_broken_membership_file_leaves_the_last_one_in_use(
    client: aiohttp.ClientSession, fleet: Fleet, gateway: Gateway
) -> None:
    (replica,) = await fleet(FakeReplica("a"))
    gateway.set_members([{**replica.entry(), "port": "no port"}])
    await asyncio.sleep(1.5 * PROBE_INTERVAL_S)
    assert await status_of(client) == 200
    gateway.set_members([])
    await asyncio.sleep(1.5 * PROBE_INTERVAL_S)
    assert await status_of(client) == 200
    assert (
        "entry 1 needs name, model, address, port, admin_port and server_name"
        in gateway.error_log()
    )
    assert "no replica in it; the version in use stays" in gateway.error_log()


async def test_drains_fail_no_request(
    client: aiohttp.ClientSession, fleet: Fleet, record_property: Callable[[str, object], None]
) -> None:
    replicas = await fleet(FakeReplica("a"), FakeReplica("b"))
    drains = 8
    async with Load(client, clients=16, pause_s=0.05) as outcomes:
        for replica in itertools.islice(itertools.cycle(replicas), drains):
            await replica.drain(PROBE_INTERVAL_S)
            await replica.start()
            await asyncio.sleep(0.2)
            replica.ready = True
            await asyncio.sleep(1.5 * PROBE_INTERVAL_S)
    failed = [status for status in outcomes if status != 200]
    record_property("drains", drains)
    record_property("requests", len(outcomes))
    print(f"{len(failed)} of {len(outcomes)} requests failed over {drains} drains")  # noqa: T201
    assert failed == []
    assert len(outcomes) > 500


async def test_gap_of_the_only_replica_is_a_delay(
    client: aiohttp.ClientSession, fleet: Fleet
) -> None:
    (replica,) = await fleet(FakeReplica("only"))
    async with Load(client, clients=4, pause_s=0.02) as outcomes:
        for _ in range(2):
            await replica.drain(PROBE_INTERVAL_S)
            await asyncio.sleep(0.7)
            await replica.start()
            replica.ready = True
            await asyncio.sleep(3 * PROBE_INTERVAL_S)
    print(f"{len(outcomes)} requests over 2 gaps")  # noqa: T201
    assert set(outcomes) == {200}


async def test_queue_is_bounded_in_time_and_length(
    client: aiohttp.ClientSession, fleet: Fleet, gateway: Gateway
) -> None:
    await fleet(FakeReplica("a"), cold=True)
    started = time.monotonic()

    async def ask() -> tuple[int, str, str, float]:
        async with chat(client) as response:
            code = (await response.json())["error"]["code"]
            took = time.monotonic() - started
            return response.status, code, response.headers["Retry-After"], took

    answers = sorted(await asyncio.gather(*(ask() for _ in range(7))))
    assert [answer[:3] for answer in answers] == [(429, "queue_full", "1")] * 3 + [
        (503, "no_replica_ready", "5")
    ] * 4
    assert all(took < 0.5 for *_, took in answers[:3])
    assert all(1.9 < took < 2.6 for *_, took in answers[3:])
    waits = [float(entry["queue_time"]) for entry in gateway.access_log()[-4:]]
    assert all(1.9 < wait < 2.6 for wait in waits)


async def test_client_that_leaves_the_queue_frees_its_place(
    client: aiohttp.ClientSession, fleet: Fleet, gateway: Gateway
) -> None:
    (replica,) = await fleet(FakeReplica("a"), cold=True)
    for _ in range(3):
        left = asyncio.Event()
        waiting = [asyncio.create_task(post_and_leave(gateway, left, id="left")) for _ in range(4)]
        await asyncio.sleep(0.2)
        left.set()
        await asyncio.gather(*waiting)
        await asyncio.sleep(0.2)
    staying = asyncio.create_task(status_of(client, id="stayed"))
    await asyncio.sleep(0.1)
    replica.ready = True
    assert await staying == 200
    assert replica.served == ["stayed"]


async def test_connection_closed_while_kept_alive_is_tried_again(
    client: aiohttp.ClientSession, fleet: Fleet
) -> None:
    (replica,) = await fleet(FakeReplica("only"))
    replica.close_reused = True
    assert [await status_of(client) for _ in range(6)] == [200] * 6
    assert len(replica.served) > 6  # the reused connections were met, and cost a second try


async def test_refused_connection_is_tried_elsewhere(
    client: aiohttp.ClientSession, fleet: Fleet
) -> None:
    alive, dead = await fleet(FakeReplica("alive"), FakeReplica("dead"))
    async with Load(client, clients=8) as outcomes:
        await asyncio.sleep(0.3)
        await dead.stop()
        await asyncio.sleep(1)
    assert set(outcomes) == {200}
    assert alive.served


async def test_request_that_kills_replicas_visits_two_at_most(
    client: aiohttp.ClientSession, fleet: Fleet
) -> None:
    replicas = await fleet(*(FakeReplica(name) for name in "abcd"))
    for _ in range(2 * len(replicas)):  # so that connections are kept to each
        assert await status_of(client) == 200
    for replica in replicas:
        replica.crash = True
    before = sum(len(replica.served) for replica in replicas)
    async with chat(client) as response:
        assert response.status == 502
        assert response.headers["Retry-After"] == "1"
        assert (await response.json())["error"]["code"] == "replica_failed"
    assert sum(len(replica.served) for replica in replicas) == before + 2


async def test_read_timeout_is_not_tried_again(client: aiohttp.ClientSession, fleet: Fleet) -> None:
    replicas = await fleet(FakeReplica("a"), FakeReplica("b"))
    async with chat(client, pause_s=READ_TIMEOUT_S + 1) as response:
        assert response.status == 504
        assert (await response.json())["error"]["code"] == "replica_timeout"
    assert sum(len(replica.served) for replica in replicas) == 1


async def test_hanging_probe_does_not_delay_the_news_of_others(
    client: aiohttp.ClientSession, fleet: Fleet, gateway: Gateway
) -> None:
    (replica,) = await fleet(FakeReplica("a"))

    done = asyncio.Event()

    async def hang(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await done.wait()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    gateway.set_members(
        [{**replica.entry(), "name": "hung", "port": 1, "admin_port": port}, replica.entry()]
    )
    await asyncio.sleep(2 * PROBE_INTERVAL_S)
    replica.ready = False
    async with asyncio.timeout(1.5 * PROBE_INTERVAL_S):
        await wait_for_health(client, 503)
    done.set()
    server.close()
    await asyncio.sleep(0.1)
