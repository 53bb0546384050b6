import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from warmfleet.plan.models import FleetPlan
from warmfleet.plan.timeouts import RELATIONS, TimeoutChain, TimeoutInputs, solve_timeouts

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

    for relation in RELATIONS:
        assert getattr(chain, relation.outer) > getattr(chain, relation.inner)
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


@pytest.mark.parametrize("relation", RELATIONS, ids=lambda pair: f"{pair.outer}>{pair.inner}")
def test_a_chain_that_breaks_a_relation_is_refused_by_name(relation) -> None:
    limits = GOOD.model_dump()
    # Equal is refused too. The inner limit goes up, and all that must be above it but the outer.
    limits |= {relation.outer: limits[relation.inner]}

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


def test_a_start_that_systemd_would_kill_is_refused(planning) -> None:
    plan = planning.dumped(planning.plan())
    plan["timeouts"]["systemd_start_s"] = plan["models"][0]["warmup"]["budget_s"]

    with pytest.raises(ValidationError, match=r"timeouts.systemd_start_s is 180 s; needed: more"):
        FleetPlan.model_validate(plan)
