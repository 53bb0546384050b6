"""The line of a site: cases as data, and what more load must never do."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from warmfleet.catalog.lines import LinePrice
from warmfleet.catalog.load import load_catalog
from warmfleet.errors import PlanRefusedError, SpecError
from warmfleet.network.estimate import RttEstimate, estimate
from warmfleet.plan import line_paths
from warmfleet.plan.bandwidth import (
    PlannedBandwidth,
    SiteTraffic,
    plan_bandwidth,
    site_callers,
)
from warmfleet.resolve.facts import UserFacts
from warmfleet.spec.models import FleetSpec

CATALOG = load_catalog()
PLACES = {place.id: place for place in CATALOG.places}
CASES = [
    pytest.param(case, id=case["name"])
    for case in yaml.safe_load(Path(__file__).with_name("bandwidth.yaml").read_text())
]


def _planned(spec: FleetSpec, site: dict[str, Any], **options: Any) -> PlannedBandwidth:
    traffic = SiteTraffic(
        region=site.get("region", "guangzhou"),
        users=[UserFacts(PLACES[user.where], user.share.fraction) for user in spec.users],
        callers=site_callers(spec, [site.get("hidden", 3584)], site.get("share", 1.0)),
        pull_bytes=site.get("pull"),
    )
    return plan_bandwidth(traffic, spec, CATALOG, rtt_p95_ms=site.get("rtt_p95_ms"), **options)


def _paths_of(ms: dict[str, float]) -> Any:
    def estimate(*_: Any, line: str, **__: Any) -> RttEstimate:
        return RttEstimate(ms[line], ms[line] / 2, ms[line] * 2, "modelled", "mainland", "case")

    return estimate


@pytest.mark.parametrize("case", CASES)
def test_case(case, servers, monkeypatch) -> None:
    spec, site = servers.spec(case.get("set", {})), case.get("site", {})
    if "ms" in site:
        monkeypatch.setattr(line_paths, "estimate", _paths_of(site["ms"]))

    if "error" in case:
        with pytest.raises((PlanRefusedError, SpecError)) as caught:
            _planned(spec, site)
        assert str(caught.value) == case["error"]
        return
    planned = _planned(spec, site)
    plan = planned.plan.model_dump(mode="json")
    decisions = {item.field.removeprefix("at."): item for item in planned.decisions("at")}
    expected = case.get("expect", {})
    assert expected == {field: servers.at(plan, field) for field in expected}
    for field, inputs in case.get("inputs", {}).items():
        found = decisions[field].inputs
        assert inputs == {name: found[name] for name in inputs}
    for field, said in case.get("reason", {}).items():
        assert said in decisions[field].reason


def test_every_line_is_in_the_table_with_its_time_its_money_and_a_verdict(servers) -> None:
    planned = _planned(servers.spec({}), {})

    inputs = planned.line.inputs
    options = {name: row for name, row in inputs.items() if name.startswith("option_")}
    assert len(options) == 8  # BGP, and one to three carriers
    assert all(re.match(r"[\d.]+ ms \(\d+ to \d+, p95 ", str(row)) for row in options.values())
    assert all("CNY a month (" in str(row) for row in options.values())
    assert str(inputs["option_bgp"]).endswith(": taken")
    assert "leaves China Mobile (50.6%" in str(inputs["option_china-telecom"])
    assert "needs network.dns_by_carrier" in str(
        inputs["option_china-mobile+china-telecom+china-unicom"]
    )


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("bgp", "bgp"),
        ("china-telecom", "same-carrier"),
        ("china-mobile", "cross-carrier"),
        ("china-mobile+china-telecom+china-unicom", "same-carrier"),
    ],
)
def test_a_carriers_users_take_the_path_that_the_line_makes(servers, line, path) -> None:
    spec = servers.spec(
        {
            "users": [{"where": "CN-BJ", "share": "100%"}],
            "network": {"line": line, "carriers": {"china-telecom": "100%"}},
        }
    )
    region = next(row for row in CATALOG.regions if row.id == "guangzhou")
    expected = estimate(PLACES["CN-BJ"], region, CATALOG, carrier="china-telecom", line=path)

    assert _planned(spec, {}).plan.rtt_ms == pytest.approx(expected.ms, abs=0.06)


def test_a_premium_line_is_for_its_own_carriers_and_never_slower_than_bgp(servers) -> None:
    places = ["CN-BJ", "CN-GD", "CN-SH", "CN-XJ"]
    users = [{"where": place, "share": "25%"} for place in places]
    for region in ("hongkong", "singapore", "losangeles", "frankfurt"):
        spec = servers.spec({"users": users, "network": {"carriers": {"china-telecom": "100%"}}})
        options = {o.line: o for o in _planned(spec, {"region": region}).plan.options}
        assert options["cn2"].rtt_ms == options["bgp-pro"].rtt_ms <= options["bgp"].rtt_ms
        assert options["cmin2"].rtt_ms >= options["bgp"].rtt_ms


def test_own_prices_stand_in_for_all_examples(servers) -> None:
    own = LinePrice(
        line="china-telecom",
        billing=("fixed",),
        mbps=((100000.0, 10.0),),
        currency="EUR",
        example=False,
        source="our offer",
    )
    spec = servers.spec({"network": {"carriers": {"china-telecom": "100%"}}})

    billing = _planned(spec, {}, prices=[own]).plan.billing

    assert (billing.currency, billing.example) == ("EUR", False)
    options = {o.line: o.monthly for o in _planned(spec, {}, prices=[own]).plan.options}
    assert options["bgp"] is None
    assert options["china-telecom"] == billing.monthly


CALLERS = st.fixed_dictionaries(
    {
        "peak_qps": st.floats(0.001, 2000),
        "prompt_tokens": st.integers(1, 4000),
        "output_tokens": st.integers(1, 1000),
        "stream": st.booleans(),
        "keep_alive": st.booleans(),
        "script": st.sampled_from(["latin", "cjk"]),
    }
)


@settings(deadline=None)
@given(
    caller=CALLERS,
    field=st.sampled_from(["peak_qps", "prompt_tokens", "output_tokens"]),
    factor=st.floats(1, 4),
    line=st.sampled_from([None, "bgp", "china-mobile+china-telecom+china-unicom"]),
)
def test_more_load_never_needs_less(servers, caller, field, factor, line) -> None:
    limit = {"peak_qps": 8000, "prompt_tokens": 7000, "output_tokens": 1024}[field]
    more = min(caller[field] * factor, limit)
    larger = caller | {field: more if field == "peak_qps" else int(more)}
    small, large = (
        _planned(
            servers.spec(
                {"traffic.callers": [{"name": "web", **values}]}
                | ({"network": {"line": line}} if line else {})
            ),
            {"pull": 10**9},
        ).plan
        for values in (caller, larger)
    )
    if small.line == large.line:
        assert small.committed_mbps <= large.committed_mbps
        assert small.burst_mbps <= large.burst_mbps
        assert sum(part.ports for part in small.parts) <= sum(part.ports for part in large.parts)
    assert small.egress_mbps <= large.egress_mbps
    assert small.ingress_mbps <= large.ingress_mbps
    assert large.burst_mbps >= large.committed_mbps
    assert large.committed_mbps >= large.egress_mbps * CATALOG.peaks.headroom - 1e-6


@settings(deadline=None)
@given(
    sizes=st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)).map(sorted),
    field=st.sampled_from(["response", "request"]),
    qps=st.floats(0.001, 500),
)
def test_larger_bodies_never_need_less(servers, sizes, field, qps) -> None:
    caller = {"name": "web", "peak_qps": qps, "prompt_tokens": 9, "output_tokens": 9}
    less, more = (
        _planned(
            servers.spec(
                {"traffic.callers": [{**caller, "stream": False, field: f"{size} B"}]}
                | {"network": {"line": "bgp"}}
            ),
            {},
        ).plan
        for size in sizes
    )
    assert less.committed_mbps <= more.committed_mbps
    assert less.burst_mbps <= more.burst_mbps
    # Each way of billing costs no less, and the least of them is taken.
    assert (less.billing.monthly or 0) <= (more.billing.monthly or 0) + 1e-6


@settings(deadline=None)
@given(share=st.floats(0.01, 1))
def test_a_site_with_a_share_of_the_load_needs_no_more_than_all(servers, share) -> None:
    spec = servers.spec({"traffic.callers.0.peak_qps": 2000})
    part, whole = (_planned(spec, {"share": value}).plan for value in (share, 1.0))

    assert part.committed_mbps <= whole.committed_mbps
    assert part.egress_mbps == pytest.approx(whole.egress_mbps * share, rel=1e-3, abs=1e-5)


@settings(deadline=None)
@given(
    parts=st.tuples(*[st.integers(0, 50)] * 3).filter(any),
    region=st.sampled_from(["guangzhou", "beijing", "chengdu"]),
    dns=st.booleans(),
    qps=st.floats(1, 3000),
)
def test_the_rule_holds_for_any_mix_of_carriers(servers, parts, region, dns, qps) -> None:
    names = ["china-mobile", "china-telecom", "china-unicom"]
    last = max(range(3), key=lambda index: parts[index])
    shares = [part * 100 // sum(parts) for part in parts]
    shares[last] += 100 - sum(shares)
    mix = {name: share for name, share in zip(names, shares, strict=True) if share}
    caller = {"name": "web", "peak_qps": qps, "prompt_tokens": 9, "output_tokens": 9}
    spec = servers.spec(
        {
            "network": {
                "carriers": {name: f"{share}%" for name, share in mix.items()},
                "dns_by_carrier": dns,
            },
            "traffic.callers": [{**caller, "stream": False, "response": "20 KB"}],
        }
    )

    options = _planned(spec, {"region": region}).plan.options

    reach = {line.id: set(line.carriers) for line in CATALOG.lines}
    able = [
        option
        for option in options
        for lines in [option.line.split("+")]
        if len(lines) == 1 or dns
        if all(
            share < 5 or any(name in reach[line] for line in lines) for name, share in mix.items()
        )
    ]
    [taken] = [option for option in options if option.against is None]
    best = min(option.rtt_ms for option in able)
    # Times of the plan are rounded to a tenth.
    assert taken in able
    assert taken.rtt_ms <= best + 5.1
    assert taken.monthly <= min(one.monthly for one in able if one.rtt_ms <= best + 4.9)
