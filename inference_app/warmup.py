"""Warm means proven: probes of every real shape until their latency has converged."""

import asyncio
import statistics
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from inference_app.errors import WarmupFailedError
from inference_app.ledger import Ledger
from inference_app.settings import WarmupSettings, WarmupShape

__all__ = ["Probe", "Sample", "Warmup", "converged"]


@dataclass(frozen=True)
class Sample:
    """What one probe measured; seconds and tokens."""

    latency_s: float
    first_token_s: float
    prompt_tokens: int


Probe = Callable[[WarmupShape], Awaitable[Sample]]


def converged(series: Sequence[float], window: int, ratio: float) -> bool:
    """Return whether the last ``window`` values all lie within ``ratio`` of their median."""
    if len(series) < window:
        return False
    last = series[-window:]
    median = statistics.median(last)
    return all(median / ratio <= value <= median * ratio for value in last)


class Warmup:
    """Runs the proof, one ledger phase per shape.

    Args:
        settings: shapes and the rule of convergence.
        probe: makes one completion of a shape through the service's whole path.
        ledger: gets the figures.
    """

    def __init__(self, settings: WarmupSettings, probe: Probe, ledger: Ledger) -> None:
        self._settings = settings
        self._probe = probe
        self._ledger = ledger

    async def run(self) -> None:
        """Return when every shape has converged.

        Raises:
            WarmupFailedError: a shape had not after ``max_probes``.
        """
        for shape in self._settings.shapes:
            self._ledger.begin("warmup", shape.model_dump())
            await self._warm(shape)

    async def _warm(self, shape: WarmupShape) -> None:
        window, ratio = self._settings.window, self._settings.ratio
        latencies: list[float] = []
        first_tokens: list[float] = []
        for _ in range(self._settings.max_probes):
            sample = await self._round(shape)
            latencies.append(sample.latency_s)
            first_tokens.append(sample.first_token_s)
            self._ledger.add_detail(
                probes=len(latencies),
                median_s=round(statistics.median(latencies[-window:]), 4),
                ttft_median_s=round(statistics.median(first_tokens[-window:]), 4),
                measured_prompt_tokens=sample.prompt_tokens,
            )
            # A stream's user waits for its first token, which a long answer would hide.
            steady = converged(latencies, window, ratio) and (
                not shape.stream or converged(first_tokens, window, ratio)
            )
            if steady:
                return
        seconds = ", ".join(f"{value:.3f}" for value in latencies)
        msg = (
            f"latency did not converge in {len(latencies)} probes: the last {window} must lie "
            f"within {ratio}x of their median; measured (s): {seconds}"
        )
        raise WarmupFailedError(msg)

    async def _round(self, shape: WarmupShape) -> Sample:
        """Probe with the shape's concurrency; the slowest is what a user would meet."""
        samples = await asyncio.gather(*(self._probe(shape) for _ in range(shape.concurrency)))
        return Sample(
            latency_s=max(sample.latency_s for sample in samples),
            first_token_s=max(sample.first_token_s for sample in samples),
            prompt_tokens=samples[0].prompt_tokens,
        )
