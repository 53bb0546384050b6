"""How much work is let in and done at once, and the means to end it when the replica must go."""

import asyncio
import contextlib
import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Final

from inference_app.api_errors import ApiError
from inference_app.fair_slots import FairSlots

__all__ = ["Admission", "Ticket"]

_LONGEST_RETRY_S: Final = 600
_NEW_SHARE: Final = 0.2  # of the latest request in the mean time that a slot is held


class Ticket:
    """The right of one request to be here; ``cut`` is set when it must end now."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.cut: asyncio.Future[ApiError] = asyncio.get_running_loop().create_future()

    def end(self, reason: ApiError) -> None:
        """Cut it; the first reason stays."""
        if not self.cut.done():
            self.cut.set_result(reason)


class Admission:
    """Counts requests in flight, refuses more than the limits, hands out the engine's slots.

    When it is full, a request of a key that has less here than another takes the place of that
    one's latest request that still waits: a key can fill what is free, never what others need.

    Args:
        limit: most requests at once, those that wait for a slot included.
        slots: most requests in the engine at once.
        per_key: most requests of one API key at once; None: as many as of all.
        short_of_memory: tells whether more work would be too much for the host.
        now: seconds of a clock that only goes forward.
    """

    def __init__(
        self,
        limit: int,
        slots: int,
        *,
        per_key: int | None = None,
        short_of_memory: Callable[[], bool] = lambda: False,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = limit
        self._slot_count = slots
        self._per_key = per_key
        self._short_of_memory = short_of_memory
        self._now = now
        self._slots: FairSlots[Ticket] = FairSlots(slots)
        self._tickets: set[Ticket] = set()
        self._of_key: Counter[str] = Counter()
        self._held_s: float | None = None  # mean time that a request holds its slot
        self._closed: ApiError | None = None

    @property
    def in_flight(self) -> int:
        """Requests that are here now."""
        return len(self._tickets)

    @property
    def waiting(self) -> int:
        """Requests that wait for a slot; they are in flight too."""
        return self._slots.waiting

    @property
    def busy(self) -> bool:
        """Whether a request that comes now has to wait for a slot."""
        return not self._slots.free

    def forecast_s(self, key: str) -> float:
        """Return how long a request of a key that comes now waits for its slot, about."""
        if not self.busy:
            return 0.0
        return (self._slots.ahead_of(key) + 1) * (self._held_s or 0.0) / self._slot_count

    def enter(self, key: str = "") -> Ticket:
        """Let one request in.

        Args:
            key: name of its API key.

        Raises:
            ApiError: 429 when it is too much, 503 when memory is short, or the reason given to
                ``close``.
        """
        if self._closed is not None:
            raise self._closed
        if self._short_of_memory():
            raise self._refusal(503, "this replica is short of memory", "short_of_memory", key)
        if self._per_key is not None and self._of_key[key] >= self._per_key:
            said = f"{self._per_key} requests of this API key are in flight, its most here"
            raise self._refusal(429, said, "key_limit", key)
        if len(self._tickets) >= self._limit and not self._make_room(key):
            raise self._full(key)
        ticket = Ticket(key)
        self._tickets.add(ticket)
        self._of_key[key] += 1
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """End one request's stay; more than once is once."""
        if ticket in self._tickets:
            self._tickets.remove(ticket)
            self._of_key[ticket.key] -= 1
            if not self._of_key[ticket.key]:
                del self._of_key[ticket.key]

    @contextlib.asynccontextmanager
    async def slot(self, ticket: Ticket) -> AsyncIterator[None]:
        """Hold a slot of the engine; cancelling gives up the place."""
        await self._slots.acquire(ticket.key, ticket)
        began = self._now()
        try:
            yield
        finally:
            self._slots.release(ticket.key)
            held_s = self._now() - began
            mean_s = held_s if self._held_s is None else self._held_s
            self._held_s = mean_s + _NEW_SHARE * (held_s - mean_s)

    def too_late(self, key: str, waits_s: float, within_s: float) -> ApiError:
        """Return the refusal of a request whose turn comes after its own time limit."""
        said = f"about {waits_s:.0f} s of waiting are ahead; the request allows {within_s:g} s"
        return self._refusal(429, said, "deadline_unreachable", key)

    def close(self, reason: ApiError) -> int:
        """Refuse what comes and cut what is here, for one reason; return how many were cut."""
        self._closed = reason
        for ticket in self._tickets:
            ticket.end(reason)
        return len(self._tickets)

    def _make_room(self, key: str) -> bool:
        largest = max(self._of_key, key=self._of_key_that_waits, default=key)
        # One less there and one more here must not turn the tables.
        while self._of_key_that_waits(largest) >= self._of_key[key] + 2:
            refusal = self._full(largest)
            victim = self._slots.give_up_newest(largest)
            if victim in self._tickets:  # else it left, and its end has not come to the line yet
                victim.end(refusal)
                self.leave(victim)
                return True
        return False

    def _of_key_that_waits(self, key: str) -> int:
        return self._of_key[key] if self._slots.waiting_of(key) else 0

    def _full(self, key: str) -> ApiError:
        said = f"{self._limit} requests are in flight, the most this replica takes"
        return self._refusal(429, said, "overloaded", key)

    def _refusal(self, status: int, said: str, code: str, key: str) -> ApiError:
        """Refuse, with the time after which what waits before it will have been worked on."""
        retry_s = min(max(math.ceil(self.forecast_s(key)), 1), _LONGEST_RETRY_S)
        return ApiError(
            status,
            f"{said}; try again in {retry_s} s",
            kind="rate_limit_error" if status == 429 else "server_error",
            code=code,
            retry_after_s=retry_s,
        )
