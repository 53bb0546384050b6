"""Requests that ended an engine: known again by a fingerprint, and not let in a second time.

They outlive the process, since an engine's death ends it. What is kept says nothing of a text.
"""

import contextlib
import json
import logging
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from inference_app.api_errors import ApiError

__all__ = ["Quarantine"]

_logger = logging.getLogger(__name__)
_LIFETIME_S: Final = 3600.0
_MOST: Final = 256
_SURE: Final = 2
_LOST_S: Final = 10.0  # from a request's early end to the news that the engine is dead


class Quarantine:
    """Blames requests for an engine's death.

    One that was alone in the engine is guilty at once. Of several each is a suspect, and guilty
    when it is there a second time, so that who stood beside is not refused.

    Args:
        file: where it is kept.
        clock: seconds since the epoch.
    """

    def __init__(self, file: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._clock = clock
        self._inside: Counter[str] = Counter()
        self._lost: dict[str, float] = {}
        self._blamed = _read(file)  # fingerprint: (blame, when it is forgotten), oldest first

    def check(self, fingerprint: str) -> None:
        """Let a request pass that is not known to end engines.

        Raises:
            ApiError: 422, it is.
        """
        blame, until = self._blamed.get(fingerprint, (0, 0.0))
        left_s = until - self._clock()
        if blame >= _SURE and left_s > 0:
            raise ApiError(
                422,
                "this same request ended the engine before and is not tried again; change it, or "
                f"send it in {math.ceil(left_s / 60)} min",
                code="request_quarantined",
                retry=False,
            )

    @contextlib.contextmanager
    def inside(self, fingerprint: str) -> Iterator[None]:
        """Note that a request is in the engine.

        One that ends early, for whatever reason, is a suspect for ten seconds more: the engine may
        die of it after its client has left, and the news of that may come after its connection's.
        """
        self._inside[fingerprint] += 1
        try:
            yield
        except BaseException as error:
            if not _was_unread(error) and not _is_refusal(error):
                self._note_early_end(fingerprint)
            raise
        finally:
            self._inside[fingerprint] -= 1
            if not self._inside[fingerprint]:
                del self._inside[fingerprint]

    def engine_died(self, *, by_itself: bool) -> None:
        """Blame what was in the engine, and keep that.

        Args:
            by_itself: it was not killed from outside, which says less of what it worked on.
        """
        now = self._clock()
        suspects = {*self._inside, *(n for n, at in self._lost.items() if now - at < _LOST_S)}
        if not suspects:
            return
        blame = _SURE if by_itself and len(suspects) == 1 else 1
        for name in suspects:
            before, until = self._blamed.pop(name, (0, 0.0))
            known = before if until > now else 0
            self._blamed[name] = (min(known + blame, _SURE), now + _LIFETIME_S)
        kept = [(name, told) for name, told in self._blamed.items() if told[1] > now]
        self._blamed = dict(kept[-_MOST:])
        sure = sum(self._blamed[name][0] >= _SURE for name in suspects if name in self._blamed)
        _logger.warning("event=quarantine suspects=%s guilty=%s", len(suspects), sure)
        self._write()

    def _note_early_end(self, fingerprint: str) -> None:
        now = self._clock()
        self._lost = {name: at for name, at in self._lost.items() if now - at < _LOST_S}
        self._lost[fingerprint] = now

    def _write(self) -> None:
        new = self._file.with_suffix(".new")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(json.dumps(self._blamed))
            os.replace(new, self._file)
        except OSError as error:  # the engine's end is told all the same
            _logger.warning("event=quarantine_unsaved reason=%r", error.strerror)


def _was_unread(error: BaseException) -> bool:
    # A Unix socket is refused when its listener is gone, and reset when what was sent is unread:
    # so those end that get the slot of the one that the engine died of.
    return isinstance(error, OSError) and not isinstance(error, TimeoutError)


def _is_refusal(error: BaseException) -> bool:
    return isinstance(error, ApiError) and not error.ours


def _read(file: Path) -> dict[str, tuple[int, float]]:
    try:
        kept = json.loads(file.read_text())
        return {str(name): (int(blame), float(until)) for name, (blame, until) in kept.items()}
    except FileNotFoundError:
        return {}
    except (AttributeError, OSError, TypeError, ValueError):
        _logger.warning("event=quarantine_unreadable file=%s", file)
        return {}
