"""Updates: what a plan promises to leave in place, and that more room never makes it less."""

from hypothesis import given, settings
from hypothesis import strategies as st

from warmfleet.errors import PlanRefusedError

CARDS = ("1 x RTX 4090", "1 x L40S", "1 x A100 PCIe 80GB", "1 x H200")
"""Of 24, 48, 80 and 141 GB."""

CHANGES = st.fixed_dictionaries(
    {
        "models.0.source": st.sampled_from(
            [{"hf": f"Qwen/Qwen2.5-{size}B-Instruct"} for size in ("1.5", "7", "14", "32")]
        ),
        "models.0.precision": st.just("bf16"),
        "models.0.context": st.sampled_from(["4k", "16k", "32k"]),
        "slo.availability": st.sampled_from(["99%", "99.9%"]),
        "updates": st.sampled_from([{}, {"floor": 1}, {"floor": 2}]),
    }
)


def _update(servers, changes, gpu):
    try:
        plan = servers.plan(changes | {"placement.gpu": gpu})
    except PlanRefusedError:
        return None
    return plan.sites[0].updates[0]


@settings(max_examples=25, deadline=None)
@given(changes=CHANGES)
def test_a_larger_card_never_leaves_fewer_serving(servers, changes) -> None:
    found = [_update(servers, changes, gpu) for gpu in CARDS]
    there = [one for one in found if one is not None]

    for one in there:
        assert one.floor <= one.ready
        if one.strategy != "drain_then_swap":
            assert (one.peak_share, one.gap_s) == (1, 0)
        assert (one.gap_s > 0) == (one.ready == 0)
        assert one.gap_s <= one.replace_s
    # On a larger card fewer replicas may carry the load: the share of the peak is what compares.
    alone = [
        one for one in there if changes["slo.availability"] == "99%" and not changes["updates"]
    ]
    if len({one.ready + (one.strategy == "drain_then_swap") for one in alone}) == 1:
        shares = [one.peak_share for one in alone]
        assert shares == sorted(shares)


@settings(max_examples=20, deadline=None)
@given(changes=CHANGES, gpu=st.sampled_from(CARDS))
def test_auto_is_what_could_have_been_asked_for(servers, changes, gpu) -> None:
    auto = _update(servers, changes, gpu)

    if auto is not None:
        asked = changes | {"updates": changes["updates"] | {"strategy": auto.strategy}}
        assert _update(servers, asked, gpu) == auto


@settings(max_examples=25, deadline=None)
@given(
    gpu=st.sampled_from(["1 x RTX 4090", "1 x H100", "8 x L40S", None]),
    qps=st.lists(st.floats(0.05, 60), min_size=2, max_size=2).map(sorted),
    availability=st.sampled_from(["99%", "99.9%"]),
)
def test_more_load_never_lowers_the_floor(servers, gpu, qps, availability) -> None:
    floors = []
    for rate in qps:
        changes = {"traffic.callers.0.peak_qps": rate, "slo.availability": availability}
        update = _update(servers, changes, gpu)
        if update is None:
            return
        if availability == "99.9%":  # there is a replica to spare: the peak is carried on
            assert update.peak_share == 1
        floors.append((update.floor, update.ready))

    if gpu == "1 x RTX 4090":  # one layout alone: else fewer replicas may be larger ones
        assert floors == sorted(floors)
