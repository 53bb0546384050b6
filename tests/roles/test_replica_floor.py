"""A restart during a deploy leaves the floor of ready replicas at every gateway."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="module")
def module(load_module: Callable[[str, str], ModuleType]) -> ModuleType:
    return load_module("inference_service", "replica_floor")


def replica(
    name: str, *, model: str = "chat", ready: bool = True, drained: bool = False
) -> dict[str, Any]:
    return {"name": name, "model": model, "ready": ready, "drained": drained, "in_flight": 0}


@pytest.mark.parametrize(
    ("replicas", "floor", "short"),
    [
        ([replica("a"), replica("b")], 1, {}),
        ([replica("a"), replica("b", drained=True)], 1, {"chat": []}),
        ([replica("a"), replica("b", ready=False)], 1, {"chat": []}),
        ([replica("a"), replica("b"), replica("c")], 3, {"chat": ["b", "c"]}),
        # It serves nobody, so its restart takes nothing away.
        ([replica("a", drained=True), replica("b", ready=False)], 1, {}),
        ([replica("a", ready=False), replica("b", ready=False)], 1, {}),
        ([replica("a")], 0, {}),
        # One model's replicas are no help to another's users.
        ([replica("a"), replica("a", model="code"), replica("b")], 1, {"code": []}),
        ([], 1, {}),
    ],
)
def test_who_is_left(
    module: ModuleType,
    replicas: list[dict[str, Any]],
    floor: int,
    short: dict[str, list[str]],
) -> None:
    assert module.below_floor(replicas, "a", floor) == short


def test_the_refusal_says_what_is_found_and_needed(module: ModuleType) -> None:
    assert module.refusal({"chat": ["b"], "code": []}, "a", 2) == (
        "a is not restarted: b would serve chat without a; nobody would serve code without a; "
        "needed: 2 ready (the floor); do first: undrain or mend the others, then run this again"
    )


class Gateway(BaseHTTPRequestHandler):
    """Answers what its server holds, and nothing else."""

    server: "Server"

    def do_GET(self) -> None:
        known = self.path == "/replicas" and self.server.body
        self.send_response(200 if known else 404)
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


class Server(HTTPServer):
    body = b""


@pytest.fixture
def gateway() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Gateway) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_gateway_tells_of_its_replicas(module: ModuleType, gateway: Server) -> None:
    gateway.body = json.dumps([replica("a")]).encode()
    assert module.replicas_of(gateway.server_port) == [replica("a")]
    # Older than this question, or not what it should be: it has no say.
    for body in (b"", b"<html>", b"{}"):
        gateway.body = body
        assert module.replicas_of(gateway.server_port) is None


def test_a_gateway_without_a_proxy_has_no_say(module: ModuleType) -> None:
    with Server(("127.0.0.1", 0), Gateway) as server:
        port = server.server_port
    assert module.replicas_of(port) is None
