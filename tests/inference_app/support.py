"""Runs replicas with the fake engine, in this process or as one of its own."""

import asyncio
import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from inference_app.ledger import Ledger
from inference_app.service import Service
from inference_app.settings import ServiceSettings
from inference_app.state import ReplicaState

MESSAGES = [{"role": "user", "content": "tell me about trees"}]
PATIENCE_S = 30.0  # for a busy machine; a passing test never waits for it


def settings_document(folder: Path, **engine_options: object) -> dict[str, Any]:
    """Return settings of a fast fake replica on ports that the kernel picks."""
    return {
        "revision": "r1",
        "model": {
            "name": "chat",
            "path": str(folder / "none.gguf"),
            "size_bytes": 1_000_000,
            "sha256": "0" * 64,
        },
        "engine": {
            "kind": "fake",
            "context_tokens": 512,
            "slots": 2,
            "threads": 1,
            "options": engine_options,
        },
        "traffic": {"host": "127.0.0.1", "port": 0},
        "admin": {"host": "127.0.0.1", "port": 0},
        "warmup": {
            "shapes": [{"prompt_tokens": 40, "output_tokens": 4, "stream": True}],
            "window": 2,
            "ratio": 5.0,
            "budget_s": PATIENCE_S,
        },
        "limits": {"max_output_tokens": 64, "max_body_bytes": 20_000, "max_in_flight": 4},
        "timeouts": {
            "generation_s": PATIENCE_S,
            "keep_alive_s": 75,
            "probe_interval_s": 0.1,
            "drain_s": PATIENCE_S,
        },
        "state_dir": str(folder / "state"),
    }


def write_settings(folder: Path, document: dict[str, Any]) -> Path:
    """Write a settings file."""
    path = folder / "settings.json"
    path.write_text(json.dumps(document))
    return path


def free_port() -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def chat_body(**fields: object) -> dict[str, object]:
    """Return a chat completion request."""
    return {"model": "chat", "messages": MESSAGES, **fields}


def events_of(stream: bytes) -> list[dict[str, Any] | str]:
    """Return the data of each event, parsed but for the end mark."""
    lines = [line[6:] for line in stream.decode().splitlines() if line.startswith("data: ")]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]


def text_of(events: list[dict[str, Any] | str]) -> str:
    """Return the text that a stream carries."""
    choices = [event["choices"] for event in events if isinstance(event, dict)]
    return "".join(choice[0]["delta"].get("content") or "" for choice in choices if choice)


async def eventually(condition: Callable[[], Awaitable[bool] | bool], what: str) -> None:
    """Wait until a condition holds, or fail with what was waited for."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        holds = condition()
        if holds if isinstance(holds, bool) else await holds:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"not within {PATIENCE_S} s: {what}")


async def accepts(port: int) -> bool:
    """Return whether anything listens on a loopback port."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionError:
        return False
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()
    return True


@dataclass
class LocalReplica:
    """A service that runs in this process, its engine as a child."""

    service: Service
    task: "asyncio.Task[None]"
    state_dir: Path

    @property
    def admin(self) -> str:
        return f"http://127.0.0.1:{self.service.admin_port}"

    @property
    def chat_url(self) -> str:
        return f"http://127.0.0.1:{self.service.traffic_port}/v1/chat/completions"

    async def reach(self, state: ReplicaState) -> None:
        """Wait for a state; raise what ended the service where it ended instead."""

        def reached() -> bool:
            if self.service.state is not state and self.task.done():
                self.task.result()
            return self.service.state is state

        await eventually(reached, f"state {state}")

    def ledger(self) -> dict[str, Any]:
        """Return the ledger that is on disk."""
        (path,) = (self.state_dir / "ledger").glob("*.json")
        document = json.loads(path.read_text())
        assert isinstance(document, dict)
        return document


@contextlib.asynccontextmanager
async def local_replica(
    document: dict[str, Any], *, until: ReplicaState = ReplicaState.READY
) -> AsyncIterator[LocalReplica]:
    """Run a replica until the block ends."""
    settings = ServiceSettings.model_validate(document)
    identity = {"model": "chat", "revision": "r1", "host": "test"}
    started = time.monotonic()
    ledger = Ledger(settings.state_dir / "ledger", identity, started)
    service = Service(settings, ledger, started)
    replica = LocalReplica(service, asyncio.create_task(service.run()), settings.state_dir)
    try:
        await replica.reach(until)
        yield replica
    finally:
        service.stop()
        await asyncio.gather(replica.task, return_exceptions=True)


class ReplicaProcess:
    """``python -m inference_app`` as a process."""

    def __init__(self, folder: Path, document: dict[str, Any]) -> None:
        document["traffic"]["port"], document["admin"]["port"] = free_port(), free_port()
        self.document = document
        self.base = f"http://127.0.0.1:{document['traffic']['port']}"
        self.admin = f"http://127.0.0.1:{document['admin']['port']}"
        self.chat_url = f"{self.base}/v1/chat/completions"
        self._log = folder / "service.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "inference_app", str(write_settings(folder, document))],
                stderr=log,
            )

    def log(self) -> str:
        """Return what it has logged."""
        return self._log.read_text()

    def wait_ready(self) -> None:
        """Wait for the line that says it serves."""
        deadline = time.monotonic() + PATIENCE_S
        while "event=ready" not in self.log():
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.02)

    def engine(self) -> tuple[Path, int]:
        """Return the engine's socket and process id, from the log."""
        found = re.search(r"event=engine_ready socket=(\S+) pid=(\d+)", self.log())
        assert found, self.log()
        return Path(found[1]), int(found[2])

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signal it and return its exit status."""
        self.process.send_signal(number)
        return self.process.wait(timeout=PATIENCE_S)


@contextlib.contextmanager
def replica_process(folder: Path, document: dict[str, Any]) -> Iterator[ReplicaProcess]:
    """Run a replica process until the block ends."""
    replica = ReplicaProcess(folder, document)
    try:
        yield replica
    finally:
        if replica.process.poll() is None:
            replica.process.kill()
            replica.process.wait()


async def ask_engine(socket: Path, path: str) -> Any:
    """Return what an engine itself answers, past the service."""
    connector = aiohttp.UnixConnector(str(socket))
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.get(f"http://engine{path}") as response,
    ):
        return await response.json()
