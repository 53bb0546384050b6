"""Mutual TLS of both ports: the gateway gets what it asks for, and nobody else a byte."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from inference_app.state import ReplicaState
from tests.inference_app.support import (
    LocalReplica,
    chat_body,
    events_of,
    eventually,
    local_replica,
    replica_process,
    settings_document,
)
from warmfleet.project import Project
from warmfleet.stack.credentials import Credentials

HOST = "replica-1"


@pytest.fixture
def credentials(tmp_path: Path) -> Credentials:
    return make_credentials(tmp_path)


def make_credentials(folder: Path) -> Credentials:
    """Make the files of an environment whose gateway and replicas are all on loopback."""
    replicas = {HOST: "127.0.0.1", "replica-2": "127.0.0.1"}
    return Credentials.ensure(Project(folder), "lab", ["localhost", "127.0.0.1"], replicas)


def secured(document: dict[str, Any], credentials: Credentials) -> dict[str, Any]:
    document["tls"] = {
        "certificate": str(credentials.replica_certificate_file(HOST)),
        "key": str(credentials.replica_key_file(HOST)),
        "client_ca": str(credentials.fleet_ca_file),
    }
    return document


def client(credentials: Credentials, shown: Path | None = None) -> ssl.SSLContext:
    """Trust the fleet's authority; show a certificate, or none."""
    context = ssl.create_default_context(cafile=str(credentials.fleet_ca_file))
    if shown is not None:
        context.load_cert_chain(shown, shown.with_suffix(".key"))
    return context


@pytest.fixture
async def replica(tmp_path: Path, credentials: Credentials) -> AsyncIterator[LocalReplica]:
    document = settings_document(tmp_path, tokens_per_s=40)
    async with local_replica(secured(document, credentials)) as replica:
        yield replica


async def said(port: int, request: bytes, context: ssl.SSLContext | None = None) -> bytes:
    """Return all bytes that a port sends back, none where it ends the connection."""
    try:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=context, server_hostname=HOST if context else None
        )
    except (ssl.SSLError, ConnectionError):
        return b""
    try:
        writer.write(request)
        async with asyncio.timeout(10):
            return await reader.read()
    except (ssl.SSLError, ConnectionError):
        return b""
    finally:
        writer.transport.abort()
        await asyncio.sleep(0.01)  # the loop closes the socket in its next rounds


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode()


def ports(replica: LocalReplica) -> list[tuple[int, bytes]]:
    traffic = replica.service.traffic_port
    assert traffic is not None
    return [(traffic, get("/v1/models")), (replica.service.admin_port, get("/readyz"))]


async def test_the_gateway_is_answered_on_both_ports(
    replica: LocalReplica, credentials: Credentials
) -> None:
    for port, request in ports(replica):
        context = client(credentials, credentials.client_certificate_file)
        assert (await said(port, request, context)).startswith(b"HTTP/1.1 200 OK\r\n")


async def test_nobody_else_gets_a_byte(
    replica: LocalReplica, credentials: Credentials, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = make_credentials(tmp_path / "other")
    strangers = {
        "without a certificate": client(credentials),
        "of another fleet": client(credentials, other.client_certificate_file),
        "with the endpoint's": client(credentials, credentials.server_certificate_file),
        "another replica": client(credentials, credentials.replica_certificate_file("replica-2")),
        "in plain HTTP": None,
    }
    older = client(credentials, credentials.client_certificate_file)
    older.maximum_version = ssl.TLSVersion.TLSv1_2
    for port, request in ports(replica):
        for name, context in {**strangers, "with an older TLS": older}.items():
            assert await said(port, request, context) == b"", f"{name}, port {port}"


async def test_a_connection_holds_little_memory(
    replica: LocalReplica, credentials: Credentials
) -> None:
    assert replica.service._traffic is not None
    context = client(credentials, credentials.client_certificate_file)
    _, writer = await asyncio.open_connection(
        "127.0.0.1", replica.service.traffic_port, ssl=context, server_hostname=HOST
    )
    connections = replica.service._traffic._server.server_state.connections
    await eventually(lambda: bool(connections), "the connection")
    (connection,) = connections
    assert len(connection.transport._ssl_protocol._ssl_buffer) <= 64 * 1024
    writer.transport.abort()
    await asyncio.sleep(0.01)  # the loop closes the socket in its next rounds


async def test_a_client_that_leaves_stops_its_generation(
    replica: LocalReplica, credentials: Credentials
) -> None:
    port = replica.service.traffic_port
    context = client(credentials, credentials.client_certificate_file)
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=context, server_hostname=HOST
    )
    body = json.dumps(chat_body(max_tokens=64, stream=True)).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await reader.readuntil(b"data: ")
    assert replica.service._admission.in_flight == 1
    writer.transport.abort()
    async with asyncio.timeout(1):  # the whole answer takes longer
        await eventually(lambda: replica.service._admission.in_flight == 0, "the cancel")


async def test_a_drain_loses_nothing_and_ends(
    replica: LocalReplica, credentials: Credentials
) -> None:
    port = replica.service.traffic_port
    context = client(credentials, credentials.client_certificate_file)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
        url = f"https://127.0.0.1:{port}/v1"
        async with session.get(f"{url}/models") as response:
            await response.read()  # leaves an idle connection behind
        async with session.post(
            f"{url}/chat/completions", json=chat_body(max_tokens=64, stream=True)
        ) as response:
            replica.service.stop()
            await replica.reach(ReplicaState.DRAINING)
            assert events_of(await response.read())[-1] == "[DONE]"
        await asyncio.wait_for(replica.task, 10)  # the idle connection does not hold it up


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("certificate", None, "tls.certificate {path}: No such file or directory"),
        ("key", "no key", "tls.key {path}: unreadable; needed: PEM files"),
        ("client_ca", "", "tls.client_ca {path}: no certificate or crl found; needed: PEM files"),
        ("key", "other", "tls.key {path}: key values mismatch; needed: PEM files that belong"),
    ],
)
def test_files_that_cannot_be_used_are_one_line(
    tmp_path: Path, credentials: Credentials, name: str, content: str | None, expected: str
) -> None:
    document = secured(settings_document(tmp_path), credentials)
    path = Path(document["tls"][name])
    if content is None:
        path.unlink()
    elif content == "other":
        path.write_text(credentials.client_key_file.read_text())
    else:
        path.write_text(content)
    with replica_process(tmp_path, document) as process:
        assert process.process.wait(30) == 2
    (line,) = [line for line in process.log().splitlines() if "settings_wrong" in line]
    assert expected.format(path=path) in line
    assert "Traceback" not in process.log()
