"""Components and their children, with Pulumi's mocks in place of the engine."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pulumi
import pytest
import pytest_asyncio
from pulumi.runtime import MockCallArgs, MockResourceArgs, Mocks

from warmfleet.provider.bandwidth_contract import BandwidthContract
from warmfleet.provider.lab_host import LabHost
from warmfleet.provider.lab_network import LabNetwork
from warmfleet.provider.podman import Podman
from warmfleet.stack.fleet import InferenceFleet, InferenceFleetArgs
from warmfleet.stack.outputs import FleetOutput

KEY = "ssh-ed25519 AAAA warmfleet-test"
IMAGE = "localhost/warmfleet-host:test"


class FakeEngine(Mocks):
    def __init__(self) -> None:
        self.registered: dict[str, MockResourceArgs] = {}

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        self.registered[args.name] = args
        outputs = {"host_key": f"ssh-ed25519 {args.name}", "container_id": "c", "started": True}
        return args.name, {**args.inputs, **outputs, "name": args.inputs.get("name", "net")}

    def call(self, args: MockCallArgs) -> dict[str, Any]:
        raise AssertionError(args.token)


@pytest_asyncio.fixture
async def engine(monkeypatch) -> AsyncIterator[FakeEngine]:
    # Pulumi's mocks make an event loop in each worker thread and never close it.
    loops: list[asyncio.AbstractEventLoop] = []
    make = asyncio.new_event_loop

    def make_and_remember() -> asyncio.AbstractEventLoop:
        loops.append(make())
        return loops[-1]

    monkeypatch.setattr(asyncio, "new_event_loop", make_and_remember)
    fake = FakeEngine()
    pulumi.runtime.set_mocks(fake, project="warmfleet", stack="lab", preview=False)
    yield fake
    for loop in loops:
        loop.close()


async def declare(plan) -> dict[str, Any]:
    fleet = InferenceFleet("lab", InferenceFleetArgs(plan, IMAGE, KEY))
    output = await fleet.output.future()
    assert output is not None
    return output


async def test_children_are_named_after_their_parents(engine, plan):
    await declare(plan)
    site = plan.sites[0]
    assert set(engine.registered) == {
        "lab",
        f"lab-{site.name}",
        f"lab-{site.name}-network",
        f"lab-{site.name}-bandwidth",
        *(f"lab-{site.name}-{host.name}" for host in site.hosts),
    }
    assert engine.registered["lab"].typ == "warmfleet:index:InferenceFleet"
    assert engine.registered[f"lab-{site.name}"].typ == "warmfleet:index:InferenceSite"


async def test_a_host_gets_what_the_plan_says(engine, plan):
    await declare(plan)
    site, gateway = plan.sites[0], plan.sites[0].hosts[0]
    assert engine.registered[f"lab-{site.name}-{gateway.name}"].inputs == {
        "environment": plan.environment,
        "name": gateway.name,
        "image": IMAGE,
        "network": "net",
        "private_address": gateway.private_address,
        "cpus": gateway.cpus,
        "memory_mb": gateway.memory_mb,
        "published_ports": {str(k): v for k, v in gateway.published_ports.items()},
        "authorized_key": KEY,
    }


async def test_the_contract_shows_the_committed_rate(engine, plan):
    await declare(plan)
    site = plan.sites[0]
    inputs = engine.registered[f"lab-{site.name}-bandwidth"].inputs
    assert inputs["committed_mbps"] == site.bandwidth.committed_mbps
    assert inputs["region"] == site.bandwidth.region


async def test_the_output_is_a_fleet(engine, plan):
    output = FleetOutput.read(await declare(plan))
    assert output.environment == plan.environment
    assert output.endpoint == f"https://127.0.0.1:{plan.endpoint.port}"
    assert [host.name for host in output.hosts] == [host.name for host in plan.hosts]
    for host, planned in zip(output.hosts, plan.hosts, strict=True):
        assert host.ssh.host_key == f"ssh-ed25519 lab-{output.sites[0].name}-{host.name}"
        assert host.ssh.port == planned.published_ports[22]
        assert host.role.value == planned.role.value
    assert engine.registered


async def test_every_resource_type_and_input_is_one_of_the_provider(engine, plan, provider_schema):
    """The two sides are written apart; this holds them together."""
    await declare(plan)
    real = [args for args in engine.registered.values() if "Inference" not in args.typ]
    assert {args.typ for args in real} == set(provider_schema)
    for args in real:
        schema = provider_schema[args.typ]
        assert set(args.inputs) <= set(schema["inputProperties"])
        assert set(schema["requiredInputs"]) <= set(args.inputs)


@pytest.fixture
def provider_schema():
    resources = [LabNetwork(Podman()), LabHost(Podman()), BandwidthContract()]
    return {resource.kind: resource.schema() for resource in resources}
