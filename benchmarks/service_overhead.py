"""What do the service and nginx add to the bare engine?

    python benchmarks/service_overhead.py [--json] [--quick]

The same engine child is asked directly, through the service, and through nginx and the service, in
turn. The fake engine at a realistic speed shows what relaying costs; the real one shows what that
is beside real work, and how much of it can be seen at all.
"""

import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from _figures import Figure, command, figure, percentile, progress
from _service import HOST, REPLICA, Running, fake_settings, real_settings, running
from _streams import Client, Sample, Target, chat_body

from tests.edge_proxy.gateway import API_KEY, Gateway

_WORDS = 60
_GOAL_P50_MS, _GOAL_P95_MS, _GOAL_RATIO = 3.0, 8.0, 0.97
_LIMITS_S = (100, 720)
_SEED = 20


@dataclass(frozen=True)
class _Engine:
    """One engine and how it is loaded.

    Attributes:
        prefix: of its figures.
        tokens: of an answer.
        streams: how many at once; the figures of each are apart.
        each: requests that each stream makes in a round.
        rounds: interleaved; in each every target is asked once.
    """

    prefix: str
    tokens: int
    streams: tuple[int, ...]
    each: tuple[int, ...]
    rounds: int


@dataclass
class _Seen:
    """What was measured of one target at one number of streams."""

    samples: list[Sample] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)

    def first_ms(self, percent: float) -> float:
        return percentile([sample.first_s for sample in self.samples], percent) * 1000


def main() -> int:
    """Measure and print."""
    return command(
        _measure,
        name="service_overhead",
        description="What the service and nginx add to the bare engine.",
        limits_s=_LIMITS_S,
    )


def _measure(quick: bool) -> list[Figure]:
    fake = _Engine("fake", 32, (1, 8, 32), (3, 2, 1) if quick else (8, 3, 3), 1 if quick else 8)
    settings = fake_settings(64, first_token_s=0.05, tokens_per_s=40)
    with _path(settings) as targets:
        figures = asyncio.run(_figures(fake, targets))
    real = _Engine("real", 16, (1,) if quick else (1, 8), (2, 1), 1 if quick else 10)
    with _path(real_settings(slots=4)) as targets:
        return figures + asyncio.run(_figures(real, targets))


@contextmanager
def _path(settings: dict[str, object]) -> Iterator[list[Target]]:
    """Yield the engine, the service in front of it and nginx in front of that."""
    with tempfile.TemporaryDirectory(prefix="warmfleet-bench-") as folder:
        gateway = Gateway(Path(folder))
        with running(settings) as service:
            gateway.start()
            try:
                gateway.set_members([_member(service)])
                port = int(gateway.variables["edge_proxy_listen_port"])
                nginx = Target(
                    "nginx", (HOST, port), keeps=True, tls=gateway.tls(),
                    server_name="localhost", key=API_KEY,
                )  # fmt: skip
                asyncio.run(_until_reached(nginx))
                yield [service.engine, service.traffic, nginx]
            finally:
                gateway.stop()


def _member(service: Running) -> dict[str, object]:
    address = service.traffic.address
    if isinstance(address, Path):
        msg = "a gateway needs a replica on TCP"
        raise RuntimeError(msg)
    return {
        "name": REPLICA,
        "model": "chat",
        "address": address[0],
        "port": address[1],
        "admin_port": service.admin_port,
    }


async def _until_reached(target: Target) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            async with Client(target) as client:
                await client.stream(chat_body(_WORDS, 1))
        except RuntimeError:  # no replica yet
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.1)
        else:
            return


async def _figures(engine: _Engine, targets: list[Target]) -> list[Figure]:
    figures: list[Figure] = []
    for streams, each in zip(engine.streams, engine.each, strict=False):
        seen = {target.name: _Seen() for target in targets}
        order = random.Random(_SEED)  # noqa: S311 - repeatable, guards nothing
        for number in range(engine.rounds):
            progress(f"{engine.prefix}: {streams} streams, round {number + 1} of {engine.rounds}")
            if streams == 1:
                # One request each in turn: the finest that can be interleaved.
                for _ in range(each):
                    for target in order.sample(targets, len(targets)):
                        await _load(target, engine, streams, 1, seen[target.name])
            else:
                for target in order.sample(targets, len(targets)):
                    await _load(target, engine, streams, each, seen[target.name])
        bare = seen[targets[0].name]
        for target in targets[1:]:
            figures += _over(bare, seen[target.name], f"{engine.prefix}_{target.name}", streams)
        figures += _bare(bare, engine.prefix, streams)
    return figures


async def _load(target: Target, engine: _Engine, streams: int, each: int, seen: _Seen) -> None:
    """Keep a number of streams going, begun apart as those of users are."""
    apart = random.Random(_SEED)  # noqa: S311 - repeatable, guards nothing
    longest_s = 0.8 if streams > 1 else 0.0

    async def user(wait_s: float) -> list[Sample]:
        async with Client(target) as client:
            await asyncio.sleep(wait_s)
            return [await client.stream(chat_body(_WORDS, engine.tokens)) for _ in range(each)]

    waits = [apart.uniform(0, longest_s) for _ in range(streams)]
    samples = [sample for some in await asyncio.gather(*map(user, waits)) for sample in some]
    seen.samples += samples
    seen.rates.append(streams * engine.tokens / statistics.mean(s.total_s for s in samples))


def _over(bare: _Seen, seen: _Seen, name: str, streams: int) -> list[Figure]:
    figures = []
    for percent, goal in ((50, _GOAL_P50_MS), (95, _GOAL_P95_MS)):
        added = seen.first_ms(percent) - bare.first_ms(percent)
        title = f"{name}_first_token_p{percent}_added_at_{streams}"
        n = len(seen.samples)
        figures.append(figure(title, [added], "ms", "lower", goal=goal, n=n))
    ratios = [mine / its for mine, its in zip(seen.rates, bare.rates, strict=True)]
    title = f"{name}_throughput_at_{streams}"
    figures.append(figure(title, ratios, "x", "higher", goal=_GOAL_RATIO))
    return figures


def _bare(bare: _Seen, prefix: str, streams: int) -> list[Figure]:
    first = [sample.first_s * 1000 for sample in bare.samples]
    return [
        figure(f"{prefix}_engine_first_token_at_{streams}", first, "ms", "lower"),
        figure(f"{prefix}_engine_tokens_per_s_at_{streams}", bare.rates, "tokens/s", "higher"),
    ]


if __name__ == "__main__":
    sys.exit(main())
