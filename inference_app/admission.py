"""How much work is let in and done at once, and the means to end it when the replica must go."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from inference_app.api_errors import ApiError

__all__ = ["Admission", "Ticket"]


class Ticket:
    """The right of one request to be here; ``cut`` is set when it must end now."""

    def __init__(self) -> None:
        self.cut: asyncio.Future[ApiError] = asyncio.get_running_loop().create_future()


class Admission:
    """Counts requests in flight, refuses more than the limit, hands out the engine's slots.

    Args:
        limit: most requests at once, those that wait for a slot included.
        slots: most requests in the engine at once.
    """

    def __init__(self, limit: int, slots: int) -> None:
        self._limit = limit
        self._slots = asyncio.Semaphore(slots)
        self._waiting = 0
        self._tickets: set[Ticket] = set()
        self._closed: ApiError | None = None

    @property
    def in_flight(self) -> int:
        """Requests that are here now."""
        return len(self._tickets)

    @property
    def waiting(self) -> int:
        """Requests that wait for a slot; they are in flight too."""
        return self._waiting

    def enter(self) -> Ticket:
        """Let one request in.

        Raises:
            ApiError: 429 when full, or the reason given to ``close``.
        """
        if self._closed is not None:
            raise self._closed
        if len(self._tickets) >= self._limit:
            raise ApiError(
                429,
                f"{self._limit} requests are in flight, the most this replica takes; try again",
                kind="rate_limit_error",
                code="overloaded",
                retry_after_s=1,
            )
        ticket = Ticket()
        self._tickets.add(ticket)
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """End one request's stay."""
        self._tickets.discard(ticket)

    @contextlib.asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold a slot of the engine, first come first served; cancelling gives up the place."""
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._slots.release()

    def close(self, reason: ApiError) -> int:
        """Refuse what comes and cut what is here, for one reason; return how many were cut."""
        self._closed = reason
        for ticket in self._tickets:
            if not ticket.cut.done():
                ticket.cut.set_result(reason)
        return len(self._tickets)
