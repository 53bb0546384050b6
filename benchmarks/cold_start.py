"""What does the first user of a fresh replica pay, and where do the seconds of a start go?

    python benchmarks/cold_start.py [--json] [--quick]

Two parts. The real engine: starts of the lab's own service and model, with the weights in the page
cache and not, in turn; the ledger's parts against the wall time seen from outside, and the first
external request against the steady median of the same shape with varied prompts. The fake engine
with a compile delay for every new shape: the same requests behind a warm-up with the shapes that
users send, behind one with other shapes, and behind one token, as a health check sends, in turn, so
that what the gate is worth can be seen. The embedded engine compiles nothing.
"""

import asyncio
import os
import statistics
import sys
from pathlib import Path
from typing import Any

from _figures import Figure, command, figure, note, progress
from _service import Running, fake_settings, lab_weights, real_settings, running
from _streams import Client, chat_body

_LIMITS_S = (120, 1200)
_STEADY = 4
_WORDS = 60
_OUTPUT_TOKENS = 16
_COMPILE_S = 1.0
_GOAL_RATIO, _GOAL_UNACCOUNTED_PCT = 1.2, 5.0
_USER_SHAPE = {"prompt_tokens": _WORDS, "output_tokens": _OUTPUT_TOKENS, "stream": True}
_GATES: dict[str, dict[str, Any]] = {
    "gate_on": _USER_SHAPE,
    "wrong_shapes": {**_USER_SHAPE, "prompt_tokens": 8},
    "gate_off": {**_USER_SHAPE, "prompt_tokens": 1, "output_tokens": 1},
}
_DROP_CACHES = Path("/proc/sys/vm/drop_caches")


def main() -> int:
    """Measure and print."""
    return command(
        _measure,
        name="cold_start",
        description="Cold start and the first request after it.",
        limits_s=_LIMITS_S,
    )


def _measure(quick: bool) -> list[Figure]:
    return [*_real(1 if quick else 10), *_fake(1 if quick else 10)]


def _real(pairs: int) -> list[Figure]:
    settings, weights = real_settings(), lab_weights()
    note(f"Cold starts: {_how_to_drop()}.")
    walls: dict[str, list[float]] = {"cold": [], "hot": []}
    loads: dict[str, list[float]] = {"cold": [], "hot": []}
    unaccounted, ratios = [], []
    for number in range(pairs):
        for state in walls:
            progress(f"real engine: {state} start {number + 1} of {pairs}")
            if state == "cold":
                _drop_page_cache(weights)
            with running(settings) as service:
                ledger = service.ledger()
                parts = sum(phase["duration_s"] for phase in ledger["phases"])
                walls[state].append(service.wall_s)
                unaccounted.append(abs(service.wall_s - parts) / service.wall_s * 100)
                loads[state] += [
                    phase["duration_s"] for phase in ledger["phases"] if phase["name"] == "weights"
                ]
                ratios.append(_first_over_steady(service))
    return [
        *(figure(f"{state}_start_to_ready", walls[state], "s", "lower") for state in walls),
        *(figure(f"{state}_weights", loads[state], "s", "lower") for state in loads),
        figure("ledger_unaccounted", unaccounted, "%", "lower", goal=_GOAL_UNACCOUNTED_PCT),
        figure("first_over_steady", ratios, "x", "lower", goal=_GOAL_RATIO),
    ]


def _fake(rounds: int) -> list[Figure]:
    ratios: dict[str, list[float]] = {name: [] for name in _GATES}
    for number in range(rounds):
        for name, shape in _GATES.items():
            progress(f"fake engine: {name}, round {number + 1} of {rounds}")
            settings = fake_settings(
                1, compile_s=_COMPILE_S, first_token_s=0.02, tokens_per_s=200.0
            )
            settings["warmup"] = {"shapes": [shape], "budget_s": 240, "max_probes": 100}
            with running(settings) as service:
                ratios[name].append(_first_over_steady(service))
    return [
        figure(
            f"fake_{name}_first_over_steady",
            values,
            "x",
            "lower",
            goal=_GOAL_RATIO if name == "gate_on" else None,
        )
        for name, values in ratios.items()
    ]


def _first_over_steady(service: Running) -> float:
    async def ask() -> list[float]:
        async with Client(service.traffic) as client:
            bodies = [chat_body(_WORDS, _OUTPUT_TOKENS) for _ in range(_STEADY + 1)]
            return [(await client.stream(body)).total_s for body in bodies]

    first, *steady = asyncio.run(ask())
    return first / statistics.median(steady)


def _how_to_drop() -> str:
    if os.access(_DROP_CACHES, os.W_OK):
        return "the whole page cache is dropped, the interpreter and its packages too"
    return "the weights are dropped from the page cache (posix_fadvise), programs are not"


def _drop_page_cache(weights: Path) -> None:
    with weights.open("rb") as file:
        os.fsync(file.fileno())  # what is not on disk is not dropped
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if os.access(_DROP_CACHES, os.W_OK):
        _DROP_CACHES.write_text("3")


if __name__ == "__main__":
    sys.exit(main())
