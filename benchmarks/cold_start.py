"""What does the first user of a fresh replica pay, and where do the seconds of a start go?

    python benchmarks/cold_start.py [--json] [--quick]

Two parts. The real engine: starts of the lab's own service and model; the ledger's parts against
the wall time seen from outside, and the first external request against the steady median of the
same shape with varied prompts. The fake engine with a compile delay for every new shape: the same
requests behind a warm-up with the shapes that users send, behind one with other shapes, and behind
a one-token health check, in turn, so that what the gate is worth can be seen. The fake is needed
for that: the embedded engine compiles nothing.
"""

import argparse
import json
import secrets
import statistics
import sys
from typing import Any

from _service import Running, machine, running

from warmfleet.converge.weights import ensure_weights
from warmfleet.plan.lock import read_lock
from warmfleet.plan.models import ModelPlan
from warmfleet.project import Project

_STEADY = 4
_WORDS = 60
_OUTPUT_TOKENS = 16
_COMPILE_S = 1.0
_USER_SHAPE = {"prompt_tokens": _WORDS, "output_tokens": _OUTPUT_TOKENS, "stream": False}
_GATES: dict[str, list[dict[str, Any]]] = {
    "gate_on": [_USER_SHAPE],
    "wrong_shapes": [{**_USER_SHAPE, "prompt_tokens": 8}],
    "health_check": [{**_USER_SHAPE, "prompt_tokens": 1, "output_tokens": 1}],
}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Cold start and the first request after it.")
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    parser.add_argument("--quick", action="store_true", help="2 real starts, 2 of each fake")
    arguments = parser.parse_args()
    real_starts, fake_starts = (2, 2) if arguments.quick else (20, 10)
    figures = [*_real(real_starts), *_fake(fake_starts)]
    if arguments.json:
        print(json.dumps({"name": "cold_start", "figures": figures}, indent=2))
    else:
        for figure in figures:
            spread = f"{figure['min']:.3f} to {figure['max']:.3f}"
            print(f"{figure['name']:<34}{figure['value']:8.3f} {figure['unit']}  ({spread})")
    return 0


def _real(starts: int) -> list[dict[str, Any]]:
    project = Project.find()
    model = read_lock(project.plan_file("lab")).models[0]
    path = ensure_weights(project, model, lambda line: print(line, file=sys.stderr))
    settings = _settings(model, str(path), "llamacpp", {}, [_USER_SHAPE])
    totals: list[float] = []
    unaccounted: list[float] = []
    ratios: list[float] = []
    weights: list[float] = []
    for number in range(starts):
        print(f"real engine: start {number + 1} of {starts}", file=sys.stderr)
        with running(settings) as service:
            ledger = service.ledger()
            parts = sum(phase["duration_s"] for phase in ledger["phases"])
            totals.append(service.wall_s)
            unaccounted.append(abs(service.wall_s - parts) / service.wall_s * 100)
            weights += [p["duration_s"] for p in ledger["phases"] if p["name"] == "weights"]
            ratios.append(_first_over_steady(service))
    return [
        _figure("start_to_ready_s", totals, "s", "lower"),
        _figure("weights_s", weights, "s", "lower"),
        _figure("ledger_unaccounted_pct", unaccounted, "%", "lower"),
        _figure("first_over_steady", ratios, "x", "lower"),
    ]


def _fake(starts: int) -> list[dict[str, Any]]:
    model = read_lock(Project.find().plan_file("lab")).models[0]
    options = {"compile_s": _COMPILE_S, "first_token_s": 0.02, "tokens_per_s": 200}
    ratios: dict[str, list[float]] = {name: [] for name in _GATES}
    for number in range(starts):
        print(f"fake engine: round {number + 1} of {starts}", file=sys.stderr)
        for name, shapes in _GATES.items():
            with running(_settings(model, "fake.gguf", "fake", options, shapes)) as service:
                ratios[name].append(_first_over_steady(service))
    return [
        _figure(f"fake_{name}_first_over_steady", values, "x", "lower")
        for name, values in ratios.items()
    ]


def _first_over_steady(service: Running) -> float:
    seconds = [service.chat_s(_prompt(), _OUTPUT_TOKENS) for _ in range(_STEADY + 1)]
    return seconds[0] / statistics.median(seconds[1:])


def _prompt() -> str:
    """Return words that share no prefix with those before, or a prompt cache would answer."""
    return " ".join([secrets.token_hex(3), *["harbour"] * (_WORDS - 1)])


def _settings(
    model: ModelPlan,
    path: str,
    engine: str,
    options: dict[str, Any],
    shapes: list[dict[str, Any]],
) -> dict[str, Any]:
    return {
        "revision": "benchmark",
        "model": {
            "name": "chat",
            "path": path,
            "size_bytes": model.size_bytes,
            "sha256": model.sha256,
        },
        "engine": {
            "kind": engine,
            "context_tokens": model.engine.context_tokens,
            "slots": 1,
            "threads": 1,
            "options": options,
        },
        "warmup": {"shapes": shapes, "budget_s": 240, "max_probes": 20},
        "limits": {"max_output_tokens": 256, "max_in_flight": 4},
        "timeouts": {
            "generation_s": 120,
            "keep_alive_s": 75,
            "probe_interval_s": 0.1,
            "drain_s": 30,
        },
    }


def _figure(name: str, values: list[float], unit: str, better: str) -> dict[str, Any]:
    return {
        "name": name,
        "value": statistics.median(values),
        "min": min(values),
        "max": max(values),
        "unit": unit,
        "better": better,
        "n": len(values),
        "machine": machine(),
    }


if __name__ == "__main__":
    sys.exit(main())
