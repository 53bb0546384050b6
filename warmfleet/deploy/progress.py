"""Progress of long work on stderr: live rows on a terminal, plain lines elsewhere; all logged."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

__all__ = ["Reporter", "Stage", "StageTime"]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class StageTime:
    """How long one stage took."""

    name: str
    seconds: float


@dataclass
class Stage:
    """One row; ``update`` may be called from any thread."""

    name: str
    _reporter: "Reporter"
    _row: TaskID

    def update(self, detail: str, *, passing: bool = False) -> None:
        """Show what the stage is doing now; what is passing leaves no line where lines stay."""
        self._reporter._show(self, detail, passing=passing)


@dataclass
class Reporter:
    """Shows stages, also several at once; a context manager."""

    console: Console = field(default_factory=lambda: Console(stderr=True))
    times: list[StageTime] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Prepare the live display; nothing is drawn before the context is entered."""
        self._started = time.monotonic()
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.fields[name]:<12}"),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
            console=self.console,
            disable=not self.console.is_terminal,
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    @contextmanager
    def stage(self, name: str) -> Iterator[Stage]:
        """Show a row while the block runs and remember its time."""
        began = time.monotonic()
        stage = Stage(name, self, self._progress.add_task("", name=name, total=1))
        self._line(name, "started")
        try:
            yield stage
        except BaseException:
            self._line(name, f"failed after {time.monotonic() - began:.1f} s")
            raise
        seconds = time.monotonic() - began
        self.times.append(StageTime(name, round(seconds, 3)))
        self._progress.update(stage._row, completed=1)
        self._line(name, f"done in {seconds:.1f} s")

    def _show(self, stage: Stage, detail: str, *, passing: bool) -> None:
        self._progress.update(stage._row, description=detail)
        if not passing:
            self._line(stage.name, detail)

    def _line(self, name: str, detail: str) -> None:
        _logger.info("stage=%s %s", name, detail)
        if not self.console.is_terminal:
            elapsed = time.monotonic() - self._started
            self.console.print(
                f"{elapsed:7.1f} s  {escape(name):<12} {escape(detail)}",
                highlight=False,
                soft_wrap=True,
            )
