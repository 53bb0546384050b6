import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from pydantic import ValidationError

from warmfleet.errors import PlanRefusedError
from warmfleet.plan.models import FleetPlan
from warmfleet.plan.timeouts import (
    RELATIONS,
    TimeoutChain,
    TimeoutConflictError,
    TimeoutInputs,
    solve_timeouts,
)
from warmfleet.plan.waiting import LongestAnswer, plan_timeouts
from warmfleet.spec.timeouts import TimeoutsSpec

GOOD = solve_timeouts(TimeoutInputs(50, 2, 120, None))

INPUTS = st.builds(
    TimeoutInputs,
    slowest_generation_s=st.floats(0.01, 36_000),
    rounds=st.integers(1, 16),
    warmup_budget_s=st.floats(1, 7200),
    gap_s=st.none() | st.floats(1.5, 7200),
)


@given(INPUTS)
def test_every_solved_chain_keeps_every_relation(inputs: TimeoutInputs) -> None:
    chain = solve_timeouts(inputs)

    limits = chain.model_dump()
    for relation in RELATIONS:
        assert limits[relation.outer] > relation.needed(limits)
    assert chain.generation_s >= inputs.slowest_generation_s
    assert chain.proxy_read_s > inputs.rounds * chain.generation_s
    assert chain.drain_s >= inputs.rounds * chain.generation_s + chain.probe_interval_s
    assert chain.client_s >= chain.queue_s + chain.proxy_read_s
    assert chain.systemd_start_s > inputs.warmup_budget_s


@given(INPUTS, st.floats(1, 10))
def test_slower_generation_never_shortens_a_limit(inputs: TimeoutInputs, factor: float) -> None:
    slower = TimeoutInputs(
        inputs.slowest_generation_s * factor, inputs.rounds, inputs.warmup_budget_s, inputs.gap_s
    )

    fast, slow = solve_timeouts(inputs).model_dump(), solve_timeouts(slower).model_dump()
    assert all(fast[name] <= slow[name] for name in fast)


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_a_chain_that_breaks_a_relation_is_refused_by_name(relation) -> None:
    limits = GOOD.model_dump()
    # Equal is refused too. The inner limit goes up, and all that must be above it but the outer.
    limits |= {relation.outer: relation.needed(limits)}

    with pytest.raises(ValidationError) as caught:
        TimeoutChain(**limits)

    said = caught.value.errors()[0]["msg"]
    assert relation.outer in said
    assert "needed: more than" in said
    assert len(said.splitlines()) == 1


def test_a_message_names_both_limits_and_the_harm() -> None:
    limits = GOOD.model_dump() | {"service_keepalive_s": 30, "proxy_keepalive_s": 60}

    with pytest.raises(ValidationError) as caught:
        TimeoutChain(**limits)

    assert caught.value.errors()[0]["msg"] == (
        "Value error, service_keepalive_s is 30 s; needed: more than proxy_keepalive_s (60 s), "
        "else the proxy reuses closed connections"
    )


LIMITS = [f"{name}_s" for name in TimeoutsSpec.model_fields]
ASKED = st.dictionaries(st.sampled_from(LIMITS), st.floats(0.5, 5000), max_size=4)


@given(INPUTS, ASKED)
def test_what_is_asked_is_kept_or_refused_with_a_pair_that_does_conflict(
    inputs: TimeoutInputs, asked: dict[str, float]
) -> None:
    found = _solved(replace(inputs, asked=asked))

    if isinstance(found, TimeoutConflictError):
        pair, limits = found.relation, found.limits
        assert limits[pair.outer] <= pair.needed(limits)
        assert {pair.outer, pair.inner, pair.also} & asked.keys()
    else:
        limits = found.model_dump()
        assert {name: limits[name] for name in asked} == asked
        assert all(limits[pair.outer] > pair.needed(limits) for pair in RELATIONS)


@given(INPUTS, st.sampled_from(LIMITS), st.floats(0.5, 500))
def test_the_nearest_of_a_refusal_works(inputs: TimeoutInputs, name: str, seconds: float) -> None:
    def answer_s(tokens: int) -> float:
        return inputs.slowest_generation_s * tokens / 1000

    inputs = replace(inputs, rounds=2)
    said = _refused(inputs, LongestAnswer("models[0]", 1000, answer_s, "", ""), {name: seconds})

    if (limit := re.search(r"nearest: (\S+) s", said)) is not None:
        assert not isinstance(
            _solved(replace(inputs, asked={name: float(limit[1])})), TimeoutConflictError
        )
    if (tokens := re.search(r"max_output of (\d+) tokens", said)) is not None:
        shorter = replace(
            inputs, asked={name: seconds}, slowest_generation_s=answer_s(int(tokens[1]))
        )
        assert not isinstance(_solved(shorter), TimeoutConflictError)
    assert len(said.splitlines()) <= 1


def _solved(inputs: TimeoutInputs) -> TimeoutChain | TimeoutConflictError:
    try:
        return solve_timeouts(inputs)
    except TimeoutConflictError as error:
        return error


def _refused(inputs: TimeoutInputs, longest: LongestAnswer, asked: dict[str, float]) -> str:
    """Return the refusal; nothing where all that is asked is kept."""
    try:
        plan_timeouts(longest, asked, budget_s=inputs.warmup_budget_s, gap_s=inputs.gap_s)
    except PlanRefusedError as error:
        return str(error)
    return ""


def test_a_start_that_systemd_would_kill_is_refused(planning) -> None:
    plan = planning.dumped(planning.plan())
    plan["models"][0]["warmup"]["budget_s"] = plan["timeouts"]["systemd_start_s"]

    with pytest.raises(ValidationError, match=r"timeouts.systemd_start_s is 210 s; needed: more"):
        FleetPlan.model_validate(plan)
