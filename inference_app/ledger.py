"""The account of one start: where each second between exec and ready went.

A phase ends where the next begins, so durations cannot overlap and always sum to the total.
"""

import json
import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

__all__ = ["PHASES", "SCHEMA_VERSION", "Ledger", "Phase"]

SCHEMA_VERSION: Final = 1
PHASES: Final = (
    "process_start",
    "imports",
    "engine_start",
    "weights",
    "engine_init",
    "first_forward",
    "warmup",
    "ready",
)
_REPEATED = "warmup"  # one phase per shape
_KEPT = 50
_logger = logging.getLogger(__name__)


@dataclass
class Phase:
    """One stretch of the start; times in seconds since the process started."""

    name: str
    start_s: float
    end_s: float | None = None
    detail: dict[str, object] = field(default_factory=dict)

    def end(self, moment_s: float) -> None:
        """End the phase; what moved bytes gets its rate (GB/s, decimal)."""
        self.end_s = moment_s
        moved, seconds = self.detail.get("bytes"), moment_s - self.start_s
        if isinstance(moved, int) and seconds > 0:
            self.detail["gb_per_s"] = round(moved / seconds / 1e9, 3)


class Ledger:
    """Collects the phases and keeps them on disk at every step.

    Args:
        folder: one file per start is kept here, the newest 50.
        identity: model, revision and host of this replica.
        started: start of the process on ``clock``.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        folder: Path,
        identity: dict[str, str],
        started: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._identity = identity
        self._clock = clock
        self._started = started
        age = timedelta(seconds=clock() - started)
        moment = (datetime.now(UTC) - age).isoformat(timespec="milliseconds")
        self._started_at = moment.replace("+00:00", "Z")
        self._path = folder / f"{self._started_at}.json"
        self._phases = [Phase(PHASES[0], 0.0)]
        self._failure: str | None = None
        folder.mkdir(parents=True, exist_ok=True)
        _prune(folder)

    def begin(
        self, name: str, detail: Mapping[str, object] | None = None, *, at: float | None = None
    ) -> bool:
        """End the running phase and begin another, now or ``at`` a moment of the clock.

        Engines report phases from their log, where a line may come twice or late: a phase that is
        not after the running one changes nothing. Returns whether the phase was begun.
        """
        current = self._phases[-1]
        if current.end_s is not None:
            return False
        step = PHASES.index(name) - PHASES.index(current.name)
        if step < 0 or (step == 0 and name != _REPEATED):
            return False
        moment = max(self._elapsed(at), current.start_s)
        current.end(moment)
        self._phases.append(Phase(name, moment, detail=dict(detail or {})))
        self._write()
        return True

    def add_detail(self, **detail: object) -> None:
        """Add to the detail of the running phase."""
        self._phases[-1].detail.update(detail)

    def finish(self, failure: str | None = None) -> None:
        """End the running phase and the account; a second call changes nothing."""
        if self._phases[-1].end_s is not None:
            return
        self._phases[-1].end(max(self._elapsed(None), self._phases[-1].start_s))
        self._failure = failure
        self._write()

    def document(self) -> dict[str, object]:
        """Return the account as JSON values; a running phase lasts until now."""
        now = self._elapsed(None)
        rows = [
            {
                "name": phase.name,
                "start_s": round(phase.start_s, 6),
                "duration_s": round(_end(phase, now) - phase.start_s, 6),
                "detail": phase.detail,
            }
            for phase in self._phases
        ]
        return {
            "schema_version": SCHEMA_VERSION,
            **self._identity,
            "state": self._state(),
            "started_at": self._started_at,
            "phases": rows,
            "total_s": round(_end(self._phases[-1], now), 6),
            "failure": self._failure,
        }

    def durations(self) -> dict[str, float]:
        """Return the seconds per phase name, the shapes of the warm-up summed."""
        now = self._elapsed(None)
        totals: dict[str, float] = {}
        for phase in self._phases:
            seconds = _end(phase, now) - phase.start_s
            totals[phase.name] = totals.get(phase.name, 0.0) + seconds
        return totals

    def slowest(self) -> str:
        """Return one line on the longest phase, for the message of a failed start."""
        now = self._elapsed(None)
        phase = max(self._phases, key=lambda item: _end(item, now) - item.start_s)
        detail = "".join(f" {key}={value}" for key, value in phase.detail.items())
        return f"{phase.name}{detail} took {_end(phase, now) - phase.start_s:.1f} s"

    def _state(self) -> str:
        if self._failure is not None:
            return "failed"
        return "starting" if self._phases[-1].end_s is None else "ready"

    def _elapsed(self, at: float | None) -> float:
        return (self._clock() if at is None else at) - self._started

    def _write(self) -> None:
        scratch = self._path.with_suffix(f".{os.getpid()}.tmp")
        try:
            scratch.write_text(json.dumps(self.document(), indent=1) + "\n", encoding="utf-8")
            scratch.replace(self._path)
        except OSError as error:  # a full disk must not take a replica down
            _logger.warning("event=ledger_not_kept path=%s reason=%r", self._path, error.strerror)


def _end(phase: Phase, now: float) -> float:
    return now if phase.end_s is None else phase.end_s


def _prune(folder: Path) -> None:
    for path in sorted(folder.glob("*.json"))[: 1 - _KEPT]:
        path.unlink(missing_ok=True)
    for path in folder.glob("*.tmp"):
        path.unlink(missing_ok=True)
