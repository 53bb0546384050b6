"""Hosts that operators take out while they stay warm: nothing is lost, operators alone undo it."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.edge_proxy.clients import (
    PROBE_INTERVAL_S,
    Load,
    chat,
    status_of,
    until,
    wait_for_health,
)
from tests.edge_proxy.conftest import Fleet
from tests.edge_proxy.fake_replica import FakeReplica
from tests.edge_proxy.gateway import API_KEY, Gateway

pytestmark = pytest.mark.machine


@pytest.fixture(autouse=True)
def _nobody_stays_drained(gateway: Gateway) -> Iterator[None]:
    yield
    gateway.drained_file.unlink(missing_ok=True)


async def _until(gateway: Gateway, name: str, **wanted: object) -> None:
    async with asyncio.timeout(10):
        while True:
            found = gateway.replicas()[name]
            if found == {**found, **wanted}:
                return
            await asyncio.sleep(0.02)


async def test_repeated_drains_under_load_lose_no_request(
    client: aiohttp.ClientSession, fleet: Fleet, gateway: Gateway, record_property
) -> None:
    replicas = await fleet(FakeReplica("a"), FakeReplica("b"))
    drains = 10
    async with Load(client, clients=16, pause_s=0.05) as outcomes:
        for turn in range(drains):
            replica = replicas[turn % 2]
            gateway.drain(replica.name)
            await _until(gateway, replica.name, drained=True)
            await _until(gateway, replica.name, in_flight=0)
            served = len(replica.served)
            assert replica.in_flight == 0
            await asyncio.sleep(0.3)
            assert len(replica.served) == served, "a drained replica got a request"
            gateway.drain()
            await _until(gateway, replica.name, drained=False)
            await until(lambda replica=replica, served=served: len(replica.served) > served)
    failed = [status for status in outcomes if status != 200]
    record_property("drains", drains)
    record_property("requests", len(outcomes))
    print(f"{len(failed)} of {len(outcomes)} requests failed over {drains} drains")  # noqa: T201
    assert failed == []
    assert len(outcomes) > 500


async def test_what_is_in_flight_ends_and_is_counted(
    client: aiohttp.ClientSession, fleet: Fleet, gateway: Gateway
) -> None:
    (replica,) = await fleet(FakeReplica("a"))
    async with chat(client, stream=True, events=8, gap_s=0.2) as response:
        await response.content.readuntil(b"\n\n")
        gateway.drain("a")
        await _until(gateway, "a", drained=True)
        found = gateway.replicas()["a"]
        assert found == {"model": "chat", "ready": True, "drained": True, "in_flight": 1}
        assert (await response.read()).endswith(b"data: [DONE]\n\n")
    await _until(gateway, "a", in_flight=0)
    assert len(replica.served) == 1


async def test_the_last_one_drained_is_no_replica_at_all(
    client: aiohttp.ClientSession, fleet: Fleet, gateway: Gateway
) -> None:
    await fleet(FakeReplica("a"))
    gateway.drain("a")
    await wait_for_health(client, 503)
    waiting = asyncio.create_task(status_of(client))
    await asyncio.sleep(0.3)
    gateway.drain()
    assert await waiting == 200, "the request did not wait for the end of the drain"


async def test_a_damaged_file_is_told_and_changes_nothing(
    client: aiohttp.ClientSession, fleet: Fleet, gateway: Gateway
) -> None:
    await fleet(FakeReplica("a"), FakeReplica("b"))
    gateway.drain("a")
    await _until(gateway, "a", drained=True)
    for damage in ("{", '["b"]'):
        gateway.drained_file.write_text(damage)
        await asyncio.sleep(2 * PROBE_INTERVAL_S)
        assert {name: one["drained"] for name, one in gateway.replicas().items()} == {
            "a": True,
            "b": False,
        }
        assert await status_of(client) == 200
    log = gateway.error_log()
    assert log.count(f"{gateway.drained_file}: not JSON: ") == 1
    assert log.count(f"{gateway.drained_file}: needs an object whose keys are names of hosts") == 1


async def test_a_drain_outlives_reload_and_restart_and_damage_stops_neither(tmp_path: Path) -> None:
    gateway = Gateway(tmp_path, {"edge_proxy_probe_interval_s": PROBE_INTERVAL_S})
    replicas = [FakeReplica(name, tls=gateway.replica_tls(name)) for name in "ab"]
    for replica in replicas:
        await replica.start()
        replica.ready = True
    gateway.variables["edge_proxy_replicas"] = [replica.entry() for replica in replicas]
    gateway.drain("b")
    gateway.start()
    try:
        assert gateway.process is not None
        await _until(gateway, "a", ready=True)
        os.kill(gateway.process.pid, signal.SIGHUP)
        await asyncio.sleep(2 * PROBE_INTERVAL_S)
        assert gateway.replicas()["b"]["drained"] is True
        gateway.stop()
        gateway.start()
        await _until(gateway, "a", ready=True, drained=False)
        await _until(gateway, "b", ready=True, drained=True)
        async with aiohttp.ClientSession(
            gateway.url,
            connector=aiohttp.TCPConnector(ssl=gateway.tls()),
            headers={"Authorization": f"Bearer {API_KEY}"},
        ) as client:
            assert {await status_of(client) for _ in range(6)} == {200}
        assert replicas[1].served == []
        gateway.stop()
        gateway.drained_file.write_text("{")
        gateway.start()
        await _until(gateway, "b", ready=True, drained=False)
        assert "not JSON" in gateway.error_log()
    finally:
        gateway.stop()
        for replica in replicas:
            await replica.stop()
