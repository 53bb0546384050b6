"""Who is let in, who waits for whom, and what the others are told."""

import asyncio
import itertools
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_app.admission import Admission, Ticket
from inference_app.api_errors import ApiError


class _Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


async def _waits(admission: Admission, ticket: Ticket) -> "asyncio.Task[None]":
    async def hold() -> None:
        async with admission.slot(ticket):
            await asyncio.Event().wait()

    task = asyncio.create_task(hold())
    await asyncio.sleep(0)
    return task


async def _end(*tasks: "asyncio.Task[None]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_full_admission_names_the_limit_and_a_time() -> None:
    clock = _Clock()
    admission = Admission(3, 1, now=clock)
    tickets = [admission.enter("a") for _ in range(3)]
    async with admission.slot(tickets[0]):
        clock.seconds = 8.0  # what a request takes here
    tasks = [await _waits(admission, ticket) for ticket in tickets]
    with pytest.raises(ApiError, match="3 requests are in flight") as caught:
        admission.enter("a")
    error = caught.value
    assert (error.status, error.code, error.retry_after_s) == (429, "overloaded", 24)
    assert "try again in 24 s" in error.message
    await _end(*tasks)
    admission.leave(tickets[0])
    assert admission.enter("a").key == "a"


async def test_the_forecast_counts_who_comes_before() -> None:
    clock = _Clock()
    admission = Admission(20, 1, now=clock)
    tickets = [admission.enter("greedy") for _ in range(7)]
    async with admission.slot(tickets[0]):
        clock.seconds = 10.0
    tasks = [await _waits(admission, ticket) for ticket in tickets]
    assert admission.forecast_s("greedy") == 70.0
    assert admission.forecast_s("modest") == 20.0, "one of the other key, and who is worked on"
    tasks.append(await _waits(admission, admission.enter("modest")))
    assert admission.forecast_s("modest") == 40.0
    await _end(*tasks)


async def test_one_key_has_its_own_limit() -> None:
    admission = Admission(4, 1, per_key=2)
    first = [admission.enter("a") for _ in range(2)]
    with pytest.raises(ApiError, match="2 requests of this API key") as caught:
        admission.enter("a")
    assert (caught.value.status, caught.value.code) == (429, "key_limit")
    admission.enter("b")
    admission.leave(first[0])
    admission.leave(first[0])
    admission.enter("a")
    assert admission.in_flight == 3


async def test_a_key_that_fills_the_queue_makes_room_for_another() -> None:
    admission = Admission(4, 1)
    greedy = [admission.enter("greedy") for _ in range(4)]
    tasks = [await _waits(admission, ticket) for ticket in greedy]
    modest = [admission.enter("modest"), admission.enter("modest")]
    # From behind, and never the one that is worked on.
    assert [ticket.cut.done() for ticket in greedy] == [False, False, True, True]
    assert greedy[3].cut.result().status == 429
    assert (admission.in_flight, admission.waiting) == (4, 1)
    with pytest.raises(ApiError):  # two each: equals do not push one another out
        admission.enter("modest")
    with pytest.raises(ApiError):
        admission.enter("greedy")
    assert [ticket.cut.done() for ticket in modest] == [False, False]
    await _end(*tasks)


async def test_who_reads_its_body_is_not_pushed_out() -> None:
    admission = Admission(2, 1)
    tickets = [admission.enter("greedy") for _ in range(2)]  # neither waits for a slot yet
    with pytest.raises(ApiError):
        admission.enter("modest")
    assert not any(ticket.cut.done() for ticket in tickets)


async def test_a_key_with_fewer_slots_goes_first() -> None:
    admission = Admission(10, 2)
    served: list[str] = []

    async def serve(key: str) -> None:
        ticket = admission.enter(key)
        async with admission.slot(ticket):
            served.append(key)
            await asyncio.sleep(0.01)
        admission.leave(ticket)

    greedy = [asyncio.create_task(serve("greedy")) for _ in range(6)]
    await asyncio.sleep(0)
    modest = [asyncio.create_task(serve("modest")) for _ in range(2)]
    await asyncio.gather(*greedy, *modest)
    assert served[:2] == ["greedy", "greedy"]
    assert served.index("modest") == 2, "it waits for one generation, not for five"


@pytest.mark.parametrize("greedy", [["a"], ["a", "b"]])
async def test_no_key_waits_for_all_of_another_where_slots_are_fewer_than_keys(
    greedy: list[str],
) -> None:
    admission = Admission(40, 1)
    served: list[str] = []

    async def serve(key: str) -> None:
        ticket = admission.enter(key)
        async with admission.slot(ticket):
            served.append(key)
            await asyncio.sleep(0)
        admission.leave(ticket)

    async def one_by_one() -> None:
        for _ in range(3):
            await serve("modest")

    tasks = [asyncio.create_task(serve(key)) for _ in range(8) for key in greedy]
    await asyncio.sleep(0)
    tasks.append(asyncio.create_task(one_by_one()))
    await asyncio.gather(*tasks)
    turns = [index for index, key in enumerate(served) if key == "modest"]
    # A round is one generation of each key; what comes in the middle of one is in the next.
    rounds = len(greedy) + 1
    assert turns[0] <= rounds
    assert max(b - a for a, b in itertools.pairwise(turns)) <= rounds
    assert {*greedy} <= {*served[: turns[-1]]}, "nor does it keep the others out"


async def test_memory_that_runs_short_sheds_load() -> None:
    short = False
    admission = Admission(4, 1, short_of_memory=lambda: short)
    admission.enter()
    short = True
    with pytest.raises(ApiError, match="short of memory") as caught:
        admission.enter()
    assert (caught.value.status, caught.value.code) == (503, "short_of_memory")
    assert caught.value.retry_after_s == 1


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), limit=st.integers(1, 8), slots=st.integers(1, 4))
def test_whatever_comes_and_goes_the_limits_hold(seed: int, limit: int, slots: int) -> None:
    asyncio.run(_storm(random.Random(seed), limit, slots))  # noqa: S311


async def _storm(chance: random.Random, limit: int, slots: int) -> None:
    admission = Admission(limit, slots)
    holding: Counter[str] = Counter()
    most = 0

    async def live(key: str) -> None:
        try:
            ticket = admission.enter(key)
        except ApiError:
            return
        assert admission.in_flight <= limit

        async def work() -> None:
            nonlocal most
            async with admission.slot(ticket):
                holding[key] += 1
                most = max(most, sum(holding.values()))
                try:
                    await asyncio.sleep(0)
                finally:
                    holding[key] -= 1

        task = asyncio.ensure_future(work())
        try:
            await asyncio.wait({task, ticket.cut}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            task.cancel()
            admission.leave(ticket)
            await asyncio.gather(task, return_exceptions=True)

    tasks = []
    for _ in range(60):
        tasks.append(asyncio.create_task(live(chance.choice("aab"))))
        if chance.random() < 0.3:
            chance.choice(tasks).cancel()
        if chance.random() < 0.5:
            await asyncio.sleep(0)
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0)
    assert admission.waiting == 0
    assert most <= slots
    assert admission.in_flight == 0
    tasks = [await _waits(admission, Ticket("a")) for _ in range(slots)]
    assert admission.waiting == 0, "every slot came back"
    await _end(*tasks)
