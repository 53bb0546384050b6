"""Warm is proven by convergence, or the start has failed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from inference_app.errors import WarmupFailedError
from inference_app.ledger import Ledger
from inference_app.settings import WarmupSettings, WarmupShape
from inference_app.warmup import Sample, Warmup, converged


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        ([1.0, 1.0], False),  # too few to say
        ([1.0, 1.0, 1.0], True),
        ([31.3, 0.083, 0.083], False),  # a compile is still in the window
        ([31.3, 0.083, 0.083, 0.083], True),
        ([1.0, 1.5, 1.0], True),  # the bound itself is within
        ([1.0, 1.51, 1.0], False),
        ([1.0, 0.66, 1.0], False),  # much faster is not steady either
        ([8.0, 4.0, 2.0], False),  # drifting
        ([1.0, 1.0, 1.0, 4.0], False),  # a late compile
        ([1.0, 1.0, 1.0, 4.0, 1.0, 1.0], False),
        ([1.0, 1.0, 1.0, 4.0, 1.0, 1.0, 1.0], True),
    ],
)
def test_convergence_rule(series: list[float], expected: bool) -> None:
    assert converged(series, window=3, ratio=1.5) is expected


class _FakeProbe:
    """Answers with given latencies, in turn."""

    def __init__(self, samples: list[tuple[float, float]]) -> None:
        self._samples: Iterator[tuple[float, float]] = iter(samples)
        self.shapes: list[WarmupShape] = []

    async def __call__(self, shape: WarmupShape) -> Sample:
        self.shapes.append(shape)
        latency_s, first_token_s = next(self._samples)
        return Sample(latency_s, first_token_s, prompt_tokens=shape.prompt_tokens)


def _shape(**changes: object) -> WarmupShape:
    return WarmupShape.model_validate({"prompt_tokens": 100, "output_tokens": 8, **changes})


async def _run(
    folder: Path, shapes: list[WarmupShape], samples: list[tuple[float, float]], **changes: object
) -> tuple[_FakeProbe, list[dict[str, object]]]:
    ledger = Ledger(folder, {}, started=0.0, clock=lambda: 0.0)
    settings = WarmupSettings.model_validate({"shapes": shapes, "budget_s": 60, **changes})
    probe = _FakeProbe(samples)
    await Warmup(settings, probe, ledger).run()
    phases = ledger.document()["phases"]
    assert isinstance(phases, list)
    return probe, [phase["detail"] for phase in phases if phase["name"] == "warmup"]


async def test_each_shape_is_probed_until_it_is_steady(tmp_path: Path) -> None:
    short, long = _shape(), _shape(prompt_tokens=900, stream=False)
    compile_then_steady = [(9.0, 8.0), (1.0, 0.1), (1.1, 0.1), (1.0, 0.1)]
    probe, details = await _run(tmp_path, [short, long], compile_then_steady + [(2.0, 2.0)] * 3)
    assert probe.shapes == [short] * 4 + [long] * 3
    assert details == [
        {
            **short.model_dump(),
            "probes": 4,
            "median_s": 1.0,
            "ttft_median_s": 0.1,
            "measured_prompt_tokens": 100,
        },
        {
            **long.model_dump(),
            "probes": 3,
            "median_s": 2.0,
            "ttft_median_s": 2.0,
            "measured_prompt_tokens": 900,
        },
    ]


async def test_a_slow_first_token_is_not_hidden_by_a_long_answer(tmp_path: Path) -> None:
    samples = [(10.0, 0.2), (10.0, 2.0), (10.0, 0.2), (10.0, 0.2), (10.0, 0.2)]
    probe, _ = await _run(tmp_path, [_shape()], samples)
    assert len(probe.shapes) == 5


async def test_only_streams_are_held_to_their_first_token(tmp_path: Path) -> None:
    samples = [(10.0, 0.2), (10.0, 2.0), (10.0, 0.2)]
    probe, _ = await _run(tmp_path, [_shape(stream=False)], samples)
    assert len(probe.shapes) == 3


async def test_a_round_is_as_slow_as_its_slowest_request(tmp_path: Path) -> None:
    rounds = [[(1.0, 0.1), (9.0, 0.1)], *[[(1.0, 0.1), (1.2, 0.1)]] * 3]
    samples = [sample for pair in rounds for sample in pair]
    probe, (detail,) = await _run(tmp_path, [_shape(concurrency=2)], samples)
    assert len(probe.shapes) == 8
    assert (detail["probes"], detail["median_s"]) == (4, 1.2)


async def test_latency_that_drifts_fails_with_its_figures(tmp_path: Path) -> None:
    drift = [(2.0**-step, 0.1) for step in range(6)]
    with pytest.raises(WarmupFailedError, match=r"in 6 probes: .*1\.000, 0\.500, 0\.250"):
        await _run(tmp_path, [_shape()], drift, max_probes=6)
