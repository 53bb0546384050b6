"""What becomes of ten thousand requests, far more than a replica can take?

    python benchmarks/overload.py [--json] [--quick]

The fake engine with eight slots and a short answer. Clients are 500 at a time and never wait as
told, with three API keys, chats and texts, streamed and not. Each must get an answer, a 429 or a
503 that says when to come back, and the service must not grow with what it refuses.
"""

import asyncio
import sys

from _figures import Figure, command, figure, percentile, progress
from _process import Process
from _service import HOST, fake_settings, running

from tests.inference_app.overload import Flood, flood

_LIMITS_S = (100, 600)
_AT_ONCE, _SLOTS, _TOKENS = 500, 8, 8
_GOAL_GROWN_MIB = 32.0


def main() -> int:
    """Measure and print."""
    return command(
        _measure,
        name="overload",
        description="What becomes of far more requests than a replica can take.",
        limits_s=_LIMITS_S,
    )


def _measure(quick: bool) -> list[Figure]:
    count, rounds = (2000, 1) if quick else (10_000, 3)
    settings = fake_settings(_SLOTS, tokens_per_s=200)
    settings["limits"]["max_in_flight"] = 8 * _SLOTS
    answered, refused, lost, grown, slowest = [], [], [], [], []
    refusals: list[float] = []
    with running(settings) as service:
        base = "http://{}:{}".format(*_address(service.traffic.address))
        process = Process(service.pid)
        asyncio.run(flood(base, count=_AT_ONCE, at_once=_AT_ONCE, tokens=_TOKENS))
        for number in range(rounds):
            progress(f"{count} requests, round {number + 1} of {rounds}")
            before = process.resident_mib()
            seen = asyncio.run(flood(base, count=count, at_once=_AT_ONCE, tokens=_TOKENS))
            grown.append(process.resident_mib() - before)
            _must_be_known(seen)
            answered.append(seen.statuses[200])
            refused.append(seen.statuses[429] + seen.statuses[503])
            lost.append(count - answered[-1] - refused[-1])
            refusals += seen.refusals_s
            slowest.append(max(seen.refusals_s, default=0.0) * 1000)
    n, p99 = len(refusals), percentile(refusals, 99) * 1000
    return [
        figure("requests_lost", lost, "requests", "lower", goal=0),
        figure("requests_answered", answered, "requests", "higher"),
        figure("requests_told_to_come_back", refused, "requests", "lower"),
        figure("memory_grown", grown, "MiB", "lower", goal=_GOAL_GROWN_MIB),
        figure("refusal_p99", slowest, "ms", "lower", value=p99, n=n),
    ]


def _must_be_known(seen: Flood) -> None:
    if seen.odd:
        msg = f"{len(seen.odd)} answers that no client knows, the first: {seen.odd[0]}"
        raise RuntimeError(msg)


def _address(address: object) -> tuple[str, int]:
    if isinstance(address, tuple):
        return HOST, int(address[1])
    msg = "the service listens on TCP"
    raise RuntimeError(msg)


if __name__ == "__main__":
    sys.exit(main())
