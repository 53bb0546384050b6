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
from contextlib import AsyncExitStack, contextmanager
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
        goals: whether they are held to it: beside the work of a real engine, which differs from
            one answer to the next by more, they cannot be seen.
    """

    prefix: str
    tokens: int
    streams: tuple[int, ...]
    each: tuple[int, ...]
    rounds: int
    goals: bool


@dataclass
class _Seen:
    """What was measured of one target at one number of streams, round by round."""

    rounds: list[list[Sample]] = field(default_factory=list)

    @property
    def samples(self) -> list[Sample]:
        return [sample for samples in self.rounds for sample in samples]

    def rates(self, streams: int, tokens: int) -> list[float]:
        """Return tokens a second, as they are while every stream is followed by another."""
        means = [statistics.mean(sample.total_s for sample in samples) for samples in self.rounds]
        return [streams * tokens / mean_s for mean_s in means]


def main() -> int:
    """Measure and print."""
    return command(
        _measure,
        name="service_overhead",
        description="What the service and nginx add to the bare engine.",
        limits_s=_LIMITS_S,
    )


def _measure(quick: bool) -> list[Figure]:
    each = (3, 2, 1) if quick else (8, 3, 3)
    fake = _Engine("fake", 32, (1, 8, 32), each, rounds=1 if quick else 8, goals=True)
    settings = fake_settings(64, first_token_s=0.05, tokens_per_s=40)
    with _path(settings) as targets:
        figures = asyncio.run(_figures(fake, targets))
    streams = (1,) if quick else (1, 8)
    real = _Engine("real", 16, streams, (2, 1), rounds=1 if quick else 10, goals=False)
    with _path(real_settings(slots=4)) as targets:
        return figures + asyncio.run(_figures(real, targets))


@contextmanager
def _path(settings: dict[str, object]) -> Iterator[list[Target]]:
    """Yield the engine, the service in front of it and nginx in front of that."""
    with tempfile.TemporaryDirectory(prefix="warmfleet-bench-") as folder:
        gateway = Gateway(Path(folder))
        with running(settings, gateway.credentials(REPLICA)) as service:
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
        "server_name": REPLICA,
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
        async with AsyncExitStack() as stack:
            clients = {
                target.name: [await _client(stack, target) for _ in range(streams)]
                for target in targets
            }
            seen = await _seen(engine, clients, each)
        bare = seen[targets[0].name]
        for target in targets[1:]:
            figures += _over(bare, seen[target.name], engine, target.name, streams)
        figures += _bare(bare, engine, streams)
    return figures


async def _client(stack: AsyncExitStack, target: Target) -> Client:
    """Return a client that has asked before: a first answer also waits for TLS to be set up."""
    client = await stack.enter_async_context(Client(target))
    await client.stream(chat_body(_WORDS, 1))
    return client


async def _seen(engine: _Engine, clients: dict[str, list[Client]], each: int) -> dict[str, _Seen]:
    seen = {name: _Seen() for name in clients}
    order = random.Random(_SEED)  # noqa: S311 - repeatable, guards nothing
    for number in range(engine.rounds):
        streams = len(next(iter(clients.values())))
        progress(f"{engine.prefix}: {streams} streams, round {number + 1} of {engine.rounds}")
        samples: dict[str, list[Sample]] = {name: [] for name in clients}
        # One stream: a request of each in turn, the finest that can be interleaved.
        turns, at_once = (each, 1) if streams == 1 else (1, each)
        for _ in range(turns):
            for name in order.sample(list(clients), len(clients)):
                samples[name] += await _load(clients[name], engine.tokens, at_once)
        for name, taken in samples.items():
            seen[name].rounds.append(taken)
    return seen


async def _load(clients: list[Client], tokens: int, each: int) -> list[Sample]:
    """Keep a number of streams going, begun apart as those of users are."""
    apart = random.Random(_SEED)  # noqa: S311 - repeatable, guards nothing
    longest_s = 0.8 if len(clients) > 1 else 0.0

    async def user(client: Client, wait_s: float) -> list[Sample]:
        await asyncio.sleep(wait_s)
        return [await client.stream(chat_body(_WORDS, tokens)) for _ in range(each)]

    users = [user(client, apart.uniform(0, longest_s)) for client in clients]
    return [sample for some in await asyncio.gather(*users) for sample in some]


def _over(bare: _Seen, seen: _Seen, engine: _Engine, target: str, streams: int) -> list[Figure]:
    figures: list[Figure] = []
    name, promised = f"{engine.prefix}_{target}", engine.goals
    pairs = list(zip(seen.rounds, bare.rounds, strict=True))
    for percent, most_ms in ((50, _GOAL_P50_MS), (95, _GOAL_P95_MS)):
        figures.append(
            figure(
                f"{name}_first_token_p{percent}_added_at_{streams}",
                [_first_ms(mine, percent) - _first_ms(its, percent) for mine, its in pairs],
                "ms",
                "lower",
                goal=most_ms if promised else None,
                value=_first_ms(seen.samples, percent) - _first_ms(bare.samples, percent),
                n=len(seen.samples),
            )
        )
    rates = zip(seen.rates(streams, engine.tokens), bare.rates(streams, engine.tokens), strict=True)
    ratios = [mine / its for mine, its in rates]
    title, goal = f"{name}_throughput_at_{streams}", _GOAL_RATIO if promised else None
    return [*figures, figure(title, ratios, "x", "higher", goal=goal)]


def _bare(bare: _Seen, engine: _Engine, streams: int) -> list[Figure]:
    first, rates = _all_first_ms(bare.samples), bare.rates(streams, engine.tokens)
    name = f"{engine.prefix}_engine"
    return [
        figure(f"{name}_first_token_at_{streams}", first, "ms", "lower"),
        figure(f"{name}_tokens_per_s_at_{streams}", rates, "tokens/s", "higher"),
    ]


def _first_ms(samples: list[Sample], percent: float) -> float:
    return percentile(_all_first_ms(samples), percent)


def _all_first_ms(samples: list[Sample]) -> list[float]:
    return [sample.first_s * 1000 for sample in samples]


if __name__ == "__main__":
    sys.exit(main())
