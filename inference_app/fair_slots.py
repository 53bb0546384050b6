"""The engine's slots, shared fairly between API keys."""

import asyncio
import contextlib
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["FairSlots"]

_Owner = TypeVar("_Owner")


@dataclass(eq=False)
class _Waiter(Generic[_Owner]):
    owner: _Owner
    granted: asyncio.Future[None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class FairSlots(Generic[_Owner]):
    """Gives a free slot to the key that holds fewest; equals take turns.

    So one key alone has all slots, and a key with a thousand requests waiting delays another's
    first request by one generation at most: also where there are fewer slots than keys.

    Args:
        count: of the slots.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._held: Counter[str] = Counter()
        # In the order of their turns: who comes, is given a slot or gives one back goes to the end.
        self._waiting: OrderedDict[str, deque[_Waiter[_Owner]]] = OrderedDict()

    @property
    def free(self) -> int:
        """Slots that nobody holds."""
        return self._free

    @property
    def waiting(self) -> int:
        """Requests that wait for one."""
        return sum(map(len, self._waiting.values()))

    def waiting_of(self, key: str) -> int:
        """Requests of one key that wait."""
        return len(self._waiting.get(key, ()))

    def ahead_of(self, key: str) -> int:
        """Return how many that wait come before a new request of a key, about: in equal turns."""
        own = self.waiting_of(key)
        return own + sum(
            min(len(line), own + 1) for name, line in self._waiting.items() if name != key
        )

    def give_up_newest(self, key: str) -> _Owner:
        """Take the end of a key's line out; return whose place that was. He must stop waiting."""
        waiter = self._waiting[key][-1]
        self._forget(key, waiter)
        return waiter.owner

    async def acquire(self, key: str, owner: _Owner) -> None:
        """Take a slot, waiting for one if need be; cancelling gives up the place."""
        if self._free and not self._waiting:
            self._take(key)
            return
        waiter = _Waiter(owner)
        self._waiting.setdefault(key, deque()).append(waiter)
        try:
            await waiter.granted
        except asyncio.CancelledError:
            if waiter.granted.done() and not waiter.granted.cancelled():
                self.release(key)  # it was given the slot and cancelled at once
            else:
                self._forget(key, waiter)
            raise

    def release(self, key: str) -> None:
        """Give a slot back; the next one gets it at once."""
        self._free += 1
        self._held[key] -= 1
        if not self._held[key]:
            del self._held[key]
        self._end_turn(key)
        while self._free and self._waiting:
            self._grant()

    def _grant(self) -> None:
        key = min(self._waiting, key=self._held.__getitem__)  # the first of equals
        waiter = self._waiting[key][0]
        self._forget(key, waiter)
        if not waiter.granted.cancelled():  # its task was, and has not run since
            self._take(key)
            waiter.granted.set_result(None)

    def _take(self, key: str) -> None:
        self._free -= 1
        self._held[key] += 1
        self._end_turn(key)

    def _end_turn(self, key: str) -> None:
        if key in self._waiting:
            self._waiting.move_to_end(key)

    def _forget(self, key: str, waiter: _Waiter[_Owner]) -> None:
        line = self._waiting.get(key, deque())
        with contextlib.suppress(ValueError):  # it was given up before
            line.remove(waiter)
        if not line:
            self._waiting.pop(key, None)
