"""Work that goes on while a test does something else."""

import threading
from collections.abc import Callable
from typing import Self

__all__ = ["Background"]


class Background:
    """Calls functions again and again, each in a thread, for as long as the block lasts.

    Args:
        steps: what is called; each may be there several times.
        pause_s: before each call.
    """

    def __init__(self, *steps: Callable[[], None], pause_s: float = 0) -> None:
        self._pause_s = pause_s
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._go_on, args=(step,)) for step in steps]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _go_on(self, step: Callable[[], None]) -> None:
        while not self._stop.wait(self._pause_s):
            step()
