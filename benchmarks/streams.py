"""How many streams does one service relay, at what cost, and what does it hold in memory?

    python benchmarks/streams.py [--json] [--quick]

The fake engine, so that the engine's speed is known and its own work is not counted: processor
time and memory are those of the service process alone. Three parts: 100 streams with 5,000 events a
second in total, 1,000 slow streams (50 more each second) with the admin port asked all the while,
and clients that stop reading in front of an engine that does not.
"""

import asyncio
import contextlib
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from _figures import Figure, command, figure, percentile, progress
from _process import Process
from _service import REPLICA, Running, fake_settings, running
from _streams import Client, Sample, chat_body

from warmfleet.project import Project
from warmfleet.stack.credentials import Credentials

_LIMITS_S = (100, 720)
_WORDS = 20

_FAST_STREAMS, _EVENTS_PER_S, _GOAL_CORES = 100, 5000.0, 1.0
_SLOW_STREAMS, _SLOW_TOKENS_PER_S, _ARRIVALS_PER_S = 1000, 1.0, 50.0
_GOAL_SLOW_MIB, _GOAL_ADMIN_MS = 256.0, 100.0
_STALLED, _STALLED_TOKENS, _GOAL_STALLED_MIB = 50, 4000, 1.0


@dataclass
class _Watch:
    """Asks the admin port and reads the memory of a service, from a thread of its own."""

    service: Running
    answers_s: list[float] = field(default_factory=list)
    most_mib: float = 0.0
    _failure: str = ""
    _end: threading.Event = field(default_factory=threading.Event)

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        """Watch while the block runs.

        Raises:
            RuntimeError: the admin port did not answer.
        """
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._end.set()
            thread.join()
        if self._failure:
            msg = f"the admin port failed: {self._failure}"
            raise RuntimeError(msg)

    def _run(self) -> None:
        process = Process(self.service.pid)
        while not self._end.wait(0.05):
            began = time.perf_counter()
            try:
                self.service.admin("/readyz")
            except OSError as error:
                self._failure = str(error)
                return
            self.answers_s.append(time.perf_counter() - began)
            self.most_mib = max(self.most_mib, process.resident_mib())


def main() -> int:
    """Measure and print."""
    return command(
        _measure,
        name="streams",
        description="What relaying many streams costs the service.",
        limits_s=_LIMITS_S,
    )


def _measure(quick: bool) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="warmfleet-bench-") as folder:
        (Path(folder) / "Pulumi.yaml").touch()
        credentials = Credentials.ensure(
            Project(Path(folder)), "bench", ["localhost"], {REPLICA: "127.0.0.1"}
        )
        return [
            *_fast(credentials, seconds=5 if quick else 20, runs=1 if quick else 5),
            *_slow(
                credentials,
                streams=400 if quick else _SLOW_STREAMS,
                seconds=12 if quick else 40,
                runs=1 if quick else 3,
            ),
            *_stalled(credentials, runs=1 if quick else 3),
        ]


def _fast(credentials: Credentials, *, seconds: int, runs: int) -> list[Figure]:
    """Relay 100 streams; plain HTTP beside what hosts use, so that TLS can be told apart."""
    tokens_per_s = _EVENTS_PER_S / _FAST_STREAMS
    settings = fake_settings(_FAST_STREAMS, tokens_per_s=tokens_per_s)
    body = chat_body(_WORDS, int(tokens_per_s * seconds))
    figures: dict[str, list[list[float]]] = {"": [], "_plain": []}
    for number in range(runs):
        for suffix, files in (("", credentials), ("_plain", None)):
            progress(f"{_FAST_STREAMS} streams{suffix}, run {number + 1} of {runs}")
            with running(settings, files) as service:
                figures[suffix].append(list(asyncio.run(_relay(service, body))))
    found = []
    for suffix, measured in figures.items():
        rates, cores = zip(*measured, strict=True)
        # Of the load that was asked for: a rate that is not reached costs less only for that.
        scaled = [core * _EVENTS_PER_S / rate for rate, core in measured]
        found += [
            figure(f"relayed_events_per_s{suffix}", rates, "events/s", "higher"),
            figure(f"relay_cores{suffix}", cores, "cores", "lower"),
            figure(
                f"relay_cores_at_5000_events_per_s{suffix}",
                scaled,
                "cores",
                "lower",
                goal=_GOAL_CORES,
            ),
        ]
    return found


async def _relay(service: Running, body: bytes) -> tuple[float, float]:
    """Return the events a second and the cores of the service while all streams run."""
    process = Process(service.pid)
    async with contextlib.AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(Client(service.traffic)) for _ in range(_FAST_STREAMS)
        ]
        began, cpu_s = time.perf_counter(), process.cpu_s()
        samples = await asyncio.gather(*(client.stream(body) for client in clients))
        seconds = time.perf_counter() - began
        return sum(s.events for s in samples) / seconds, (process.cpu_s() - cpu_s) / seconds


def _slow(credentials: Credentials, *, streams: int, seconds: int, runs: int) -> list[Figure]:
    settings = fake_settings(streams, tokens_per_s=_SLOW_TOKENS_PER_S)
    body = chat_body(_WORDS, int(_SLOW_TOKENS_PER_S * seconds))
    most, added, slowest, answers = [], [], [], []
    for number in range(runs):
        progress(f"{streams} slow streams, run {number + 1} of {runs}")
        with running(settings, credentials) as service:
            before = Process(service.pid).resident_mib()
            watch = _Watch(service)
            with watch.on():
                asyncio.run(_trickle(service, streams, body))
        most.append(watch.most_mib)
        added.append((watch.most_mib - before) * 1024 / streams)
        answers += [seconds * 1000 for seconds in watch.answers_s]
        slowest.append(max(watch.answers_s) * 1000)
    n, p99 = len(answers), percentile(answers, 99)
    return [
        figure("slow_streams_memory", most, "MiB", "lower", goal=_GOAL_SLOW_MIB),
        figure("slow_streams_memory_each", added, "KiB", "lower"),
        figure("slow_streams_admin", answers, "ms", "lower"),
        figure("slow_streams_admin_p99", answers, "ms", "lower", value=p99, n=n),
        figure("slow_streams_admin_slowest", slowest, "ms", "lower", goal=_GOAL_ADMIN_MS),
    ]


async def _trickle(service: Running, streams: int, body: bytes) -> None:
    async def one(wait_s: float) -> Sample:
        await asyncio.sleep(wait_s)
        async with Client(service.traffic) as client:
            return await client.stream(body)

    # They come apart: a thousand handshakes at once would measure those.
    await asyncio.gather(*(one(number / _ARRIVALS_PER_S) for number in range(streams)))


def _stalled(credentials: Credentials, *, runs: int) -> list[Figure]:
    """Let clients stop reading: what the engine goes on to send must not pile up in the service."""
    settings = fake_settings(_STALLED, tokens_per_s=0)
    body = chat_body(_WORDS, _STALLED_TOKENS)
    each = []
    for number in range(runs):
        progress(f"{_STALLED} clients that do not read, run {number + 1} of {runs}")
        with running(settings, credentials) as service:
            each.append(asyncio.run(_stall(service, body)))
    return [figure("stalled_client_memory_each", each, "MiB", "lower", goal=_GOAL_STALLED_MIB)]


async def _stall(service: Running, body: bytes) -> float:
    process = Process(service.pid)
    before = process.resident_mib()
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(_STALLED):
            client = await stack.enter_async_context(Client(service.traffic))
            await client.send(body)
            client.stop_reading()
        # Until nothing moves any more: all buffers between engine and client are full.
        quiet, last = 0, process.cpu_s()
        while quiet < 4:
            await asyncio.sleep(0.25)
            now = process.cpu_s()
            quiet, last = (quiet + 1 if now - last < 0.02 else 0), now
        return (process.resident_mib() - before) / _STALLED


if __name__ == "__main__":
    sys.exit(main())
