"""The provider as the engine sees it: over gRPC, in this process."""

import json
from collections.abc import AsyncIterator

import grpc
import grpc.aio
import pytest
import pytest_asyncio
from pulumi.provider.experimental.property_value import PropertyValue
from pulumi.runtime import rpc
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from warmfleet.provider.bandwidth_contract import BandwidthContract
from warmfleet.provider.codec import decode, encode
from warmfleet.provider.provider import WarmfleetProvider
from warmfleet.provider.server import make_server

HOST = "urn:pulumi:test::warmfleet::a:b:C$warmfleet:index:LabHost::host"
CONTRACT = "urn:pulumi:test::warmfleet::warmfleet:index:BandwidthContract::line"


@pytest_asyncio.fixture
async def engine(backend) -> AsyncIterator[provider_pb2_grpc.ResourceProviderStub]:
    server, port = make_server(WarmfleetProvider(backend), "1.2.3")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield provider_pb2_grpc.ResourceProviderStub(channel)
    await server.stop(grace=None)


def wire(values, secrets=()):
    return PropertyValue.marshal_map(encode(values, secrets))


def plain(struct):
    return decode(PropertyValue.unmarshal_map(struct))


async def create(engine, urn, inputs, *, preview=False):
    return await engine.Create(
        provider_pb2.CreateRequest(urn=urn, properties=wire(inputs), preview=preview)
    )


async def test_the_schema_describes_every_resource(engine):
    answer = await engine.GetSchema(provider_pb2.GetSchemaRequest(version=0))
    resources = json.loads(answer.schema)["resources"]
    assert set(resources) == {
        "warmfleet:index:BandwidthContract",
        "warmfleet:index:LabHost",
        "warmfleet:index:LabNetwork",
    }
    host = resources["warmfleet:index:LabHost"]
    assert host["inputProperties"]["published_ports"]["additionalProperties"] == {"type": "integer"}
    assert "host_key" in host["properties"]
    assert "host_key" not in host["inputProperties"]
    assert "reference" not in resources["warmfleet:index:BandwidthContract"]["requiredInputs"]


def test_the_schema_marks_secrets(monkeypatch):
    monkeypatch.setattr(BandwidthContract, "secrets", frozenset({"reference"}))
    fields = BandwidthContract().schema()["inputProperties"]
    assert fields["reference"]["secret"] is True
    assert "secret" not in fields["region"]


async def test_configure_takes_secrets_and_previews(engine):
    answer = await engine.Configure(provider_pb2.ConfigureRequest())
    assert answer.acceptSecrets
    assert answer.supportsPreview
    assert not answer.acceptOutputs


async def test_the_plugin_tells_its_version(engine):
    answer = await engine.GetPluginInfo(provider_pb2.google_dot_protobuf_dot_empty__pb2.Empty())
    assert answer.version == "1.2.3"


async def test_check_returns_failures_and_the_inputs_as_they_came(engine, host_inputs):
    news = wire({**host_inputs, "cpus": 0, "memory_mb": 1})
    answer = await engine.Check(provider_pb2.CheckRequest(urn=HOST, news=news))
    assert {failure.property for failure in answer.failures} == {"cpus", "memory_mb"}
    assert answer.inputs == news


async def test_a_preview_touches_nothing_and_knows_no_outputs(engine, backend, host_inputs):
    answer = await create(engine, HOST, host_inputs, preview=True)
    assert backend.calls == []
    assert answer.id == ""
    assert answer.properties["host_key"] == rpc.UNKNOWN

    state = (await create(engine, HOST, host_inputs)).properties
    backend.calls.clear()
    news = wire({**host_inputs, "authorized_key": "ssh-ed25519 BBBB other"})
    updated = await engine.Update(
        provider_pb2.UpdateRequest(urn=HOST, id="x", olds=state, news=news, preview=True)
    )
    assert backend.calls == []
    assert updated.properties["authorized_key"] == "ssh-ed25519 BBBB other"


async def test_diff_names_properties_and_what_replaces(engine, host_inputs):
    state = (await create(engine, HOST, host_inputs)).properties
    news = {**host_inputs, "cpus": 3, "authorized_key": "ssh-ed25519 BBBB other"}
    answer = await engine.Diff(provider_pb2.DiffRequest(urn=HOST, olds=state, news=wire(news)))
    assert answer.changes == provider_pb2.DiffResponse.DIFF_SOME
    assert answer.replaces == ["cpus"]
    assert answer.deleteBeforeReplace
    assert answer.hasDetailedDiff
    kinds = {name: diff.kind for name, diff in answer.detailedDiff.items()}
    assert kinds == {
        "cpus": provider_pb2.PropertyDiff.UPDATE_REPLACE,
        "authorized_key": provider_pb2.PropertyDiff.UPDATE,
    }


async def test_diff_honours_ignored_changes(engine, contract_inputs):
    state = (await create(engine, CONTRACT, contract_inputs)).properties
    news = wire({**contract_inputs, "committed_mbps": 150})
    answer = await engine.Diff(
        provider_pb2.DiffRequest(
            urn=CONTRACT, olds=state, news=news, ignoreChanges=["committed_mbps"]
        )
    )
    assert answer.changes == provider_pb2.DiffResponse.DIFF_NONE


async def test_a_secret_input_stays_secret_in_the_state(engine, contract_inputs):
    inputs = wire({**contract_inputs, "reference": "canary"}, secrets={"reference"})
    created = await engine.Create(provider_pb2.CreateRequest(urn=CONTRACT, properties=inputs))
    stored = PropertyValue.unmarshal_map(created.properties)
    assert stored["reference"].is_secret

    read = await engine.Read(
        provider_pb2.ReadRequest(urn=CONTRACT, id=created.id, properties=created.properties)
    )
    assert PropertyValue.unmarshal_map(read.properties)["reference"].is_secret

    updated = await engine.Update(
        provider_pb2.UpdateRequest(
            urn=CONTRACT, id=created.id, olds=created.properties, news=wire(contract_inputs)
        )
    )
    assert PropertyValue.unmarshal_map(updated.properties)["reference"].is_secret


async def test_read_reports_a_removed_host_as_gone(engine, backend, host_inputs):
    created = await create(engine, HOST, host_inputs)
    request = provider_pb2.ReadRequest(urn=HOST, id=created.id, properties=created.properties)
    found = await engine.Read(request)
    assert found.id == created.id
    assert plain(found.properties) == plain(created.properties)
    backend.hosts.clear()
    assert (await engine.Read(request)).id == ""


async def test_delete_of_something_gone_succeeds(engine):
    await engine.Delete(provider_pb2.DeleteRequest(urn=HOST, id="warmfleet-test-replica-1"))


async def test_an_error_meant_to_be_read_arrives_as_it_is(engine, backend, host_inputs):
    backend.broken = "podman could not start warmfleet-test-replica-1: no space left on device"
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await create(engine, HOST, host_inputs)
    assert caught.value.details() == backend.broken


async def test_a_bug_arrives_as_one_line_too(engine, backend, host_inputs, monkeypatch):
    def fail(*_):
        msg = "two\nlines"
        raise ZeroDivisionError(msg)

    monkeypatch.setattr(backend, "create_host", fail)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await create(engine, HOST, host_inputs)
    details = "internal error of the provider: ZeroDivisionError: two lines"
    assert caught.value.details() == details


async def test_an_unknown_type_is_named(engine):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await create(engine, "urn:pulumi:test::p::warmfleet:index:Moon::m", {})
    assert "no resource type warmfleet:index:Moon" in caught.value.details()


async def test_cancel_reaches_the_backend(engine, backend):
    await engine.Cancel(provider_pb2.google_dot_protobuf_dot_empty__pb2.Empty())
    assert backend.cancelled
