"""The cost: arithmetic that can be checked by hand, and never less for more."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plan.conftest import Planning
from warmfleet.catalog.load import load_catalog
from warmfleet.plan.billing import Month, bills, cheapest
from warmfleet.plan.cost import plan_cost
from warmfleet.plan.cost_models import CostPlan
from warmfleet.plan.gpu_models import GpuSitePlan
from warmfleet.plan.planner import plan_fleet
from warmfleet.plan.price_list import PriceList
from warmfleet.resolve.facts import resolve
from warmfleet.resolve.price_facts import PriceFacts
from warmfleet.spec.prices import PriceBook

PLANNED = Planning("baremetal.yaml").plan()
"""One kind of server with one RTX 4090."""

CATALOG = load_catalog()
MONTH = Month(peak_mbps=10, egress_mbps=10, mean_of_peak=0.5, peaks=CATALOG.peaks)

BOOK: dict[str, Any] = {
    "currency": "CNY",
    "servers": [
        {"gpu": "1 x rtx4090", "cpu": 8, "rent": 3000, "setup": 500},
        {"gpu": "1 x rtx4090", "cpu": 16, "ram": "64 GB", "nvme": ["1 TB", "1 TB"], "rent": 3300},
        {"gpu": "1 x rtx4090", "rent": 4000, "region": "hangzhou"},
        {"gpu": "1 x rtx4090", "rent": 5000},
    ],
    "disks": [{"size": "1 TB", "rent": 80, "setup": 10}, {"size": "4 TB", "rent": 200}],
    "lines": [{"line": "bgp", "mbps": 95.5, "setup": 300}],
}


def facts(book: dict[str, Any]) -> PriceFacts:
    return PriceFacts(path="p.yaml", book=PriceBook.model_validate_json(json.dumps(book)))


def site(
    *,
    count: int = 2,
    cores: int = 6,
    ram: float = 32e9,
    disk: float = 500e9,
    mbps: int = 20,
    region: str = "shanghai",
    prices: PriceFacts,
) -> GpuSitePlan:
    (base,) = PLANNED.sites
    (group,) = base.groups
    host = group.host.model_copy(
        update={
            "cores": cores,
            "memory_bytes": int(ram),
            "model_disk": group.host.model_disk.model_copy(update={"size_bytes": int(disk)}),
            "data_disk": group.host.data_disk.model_copy(update={"size_bytes": 500 * 10**9}),
        }
    )
    sizes = {"count": count, "host": host}
    row = CATALOG.lines[0]
    part = base.bandwidth.parts[0].model_copy(update={"line": row.id, "committed_mbps": mbps})
    rows = PriceList(prices).lines() or []
    bill = cheapest(bills([row], [part], [1.0], region, MONTH, rows), "fixed")
    line = base.bandwidth.model_copy(update={"line": row.id, "billing": bill.plan(0.5)})
    update = {"region": region, "groups": [group.model_copy(update=sizes)], "bandwidth": line}
    return base.model_copy(update=update)


def cost(book: dict[str, Any] | None = None, term: int | None = None, **size: Any) -> CostPlan:
    prices = facts(book or BOOK)
    return plan_cost([site(**size, prices=prices)], prices, term).plan


def test_the_set_up_of_a_line_is_that_of_the_row_whose_price_holds() -> None:
    book = {
        "currency": "CNY",
        "lines": [
            {"line": "bgp", "mbps": 95, "billing": "fixed", "setup": 300},
            {"line": "bgp", "mbps": 99, "billing": "fixed", "setup": 10},
            {"line": "bgp", "mbps": 9, "billing": "p95", "setup": 0},
        ],
    }

    assert cost(book).once == 300


def test_each_of_several_lines_is_set_up() -> None:
    rows = [
        {"line": "china-telecom", "mbps": 9, "setup": 70},
        {"line": "china-unicom", "mbps": 9, "setup": 5, "region": "shanghai"},
        {"line": "china-unicom", "mbps": 9, "setup": 400},
    ]
    prices = PriceList(facts({"currency": "CNY", "lines": rows}))

    assert prices.line_setup("shanghai", ["china-telecom", "china-unicom"], "fixed") == 75
    assert prices.line_setup("beijing", ["china-telecom", "china-unicom"], "p95") == 470
    assert prices.line_setup("beijing", ["bgp"], "fixed") == 0


LINE = 20 * 95.5
CASES = [
    pytest.param({}, (2 * (3000 + 2 * 80) + LINE, 1340, 0), id="server and disks by themselves"),
    pytest.param({"cores": 12}, (2 * 3300 + LINE, 300, 0), id="a server with its disks"),
    pytest.param({"cores": 12, "disk": 2e12}, (2 * 3500 + LINE, 300, 0), id="one too small"),
    pytest.param({"cores": 12, "ram": 128e9}, (2 * 5160 + LINE, 340, 0), id="too little memory"),
    pytest.param({"disk": 2e12}, (2 * (3000 + 200 + 80) + LINE, 1320, 0), id="a larger disk"),
    pytest.param({"disk": 5e12}, (2 * 3080 + LINE, 1320, 1), id="a disk without a price"),
    pytest.param({"region": "hangzhou"}, (2 * 4160 + LINE, 340, 0), id="the region's own row"),
]


@pytest.mark.parametrize(("size", "expected"), CASES)
def test_sums(size, expected) -> None:
    found = cost(**size)
    assert expected == (found.monthly, found.once, found.on_enquiry)


def test_rents_of_a_quarter_and_the_whole_term() -> None:
    found = cost({**BOOK, "period": "quarter"}, term=12)
    assert found.monthly == round((2 * 3160 + LINE) / 3, 2)
    assert found.term_total == round(12 * found.monthly + found.once, 2)


def test_a_card_has_its_share_of_the_server() -> None:
    found = cost({"currency": "CNY", "cards": [{"card": "rtx4090", "rent": 900, "setup": 50}]})
    assert (found.monthly, found.once, found.on_enquiry) == (1800, 100, 3)
    assert found.lower_bound


def test_every_sum_of_examples_says_so(servers) -> None:
    plan = servers.plan({})
    assert plan.cost.example
    said = next(one for one in plan.decisions if one.field == "cost.monthly")
    assert "example" in said.reason
    assert "lower bound" in said.reason


def test_examples_are_never_mixed_with_prices_of_ones_own() -> None:
    found = cost({"currency": "CNY", "disks": [{"size": "1 TB", "rent": 80}]})
    assert not found.example
    assert [item.kind for item in found.sites[0].items if item.price is None] == ["server", "line"]


_CORES, _DISKS = [1, 6, 8, 9, 16, 17, 64], [1, 500e9, 1e12, 1.1e12, 4e12, 4.1e12, 9e12]
"""On both sides of every limit in the book."""


@settings(deadline=None)
@given(
    st.tuples(st.integers(1, 9), st.integers(1, 9)).map(sorted),
    st.tuples(st.sampled_from(_CORES), st.sampled_from(_CORES)).map(sorted),
    st.tuples(st.sampled_from(_DISKS), st.sampled_from(_DISKS)).map(sorted),
    st.tuples(st.integers(1, 1000), st.integers(1, 1000)).map(sorted),
    st.floats(2500, 3600),
)
def test_more_of_anything_never_costs_less(counts, cores, disks, mbps, with_disk) -> None:
    dear = {"gpu": "1 x rtx4090", "cpu": 16, "nvme": ["1 TB"], "rent": with_disk}
    book = {
        **BOOK,
        "servers": [*BOOK["servers"], dear],
        "disks": [*BOOK["disks"], {"size": "9 TB", "rent": 900}],
    }
    less, more = (
        cost(book, count=counts[at], cores=cores[at], disk=disks[at], mbps=mbps[at])
        for at in (0, 1)
    )
    assert less.on_enquiry == more.on_enquiry == 0
    assert less.monthly <= more.monthly


@settings(deadline=None)
@given(st.floats(0.01, 1e6), st.floats(1, 3))
def test_a_dearer_row_never_makes_the_sum_less(price, factor) -> None:
    rows = [{"line": "bgp", "mbps": price}, {"line": "bgp", "mbps": 95.5}]
    dearer = [{"line": "bgp", "mbps": price * factor}, rows[1]]
    assert cost({**BOOK, "lines": rows}).monthly <= cost({**BOOK, "lines": dearer}).monthly


@pytest.mark.parametrize(
    ("mean", "item"),
    [
        ("10%", ("traffic", "line bgp, traffic sent", 515.095, 412.08)),
        ("95%", ("line", "line bgp, committed rate", 30, 2865.0)),
    ],
)
def test_a_line_costs_what_its_billing_comes_to(servers, tmp_path, mean, item) -> None:
    book = {**BOOK, "traffic": [{"line": "bgp", "gb": 0.8}]}
    (tmp_path / "prices.yaml").write_text(json.dumps(book))
    changes = {"traffic.mean_of_peak": mean, "traffic.callers.0.peak_qps": 25}
    changes["placement"] = {"kind": "baremetal", "prices": "prices.yaml"}
    spec = servers.spec(changes)
    plan = plan_fleet(spec, resolve(spec, CATALOG, root=tmp_path), CATALOG)

    found = plan.cost.sites[0].items[-1]
    assert (found.kind, found.what, found.quantity, found.monthly) == item
    assert not plan.sites[0].bandwidth.billing.example


def test_a_plan_of_more_load_never_costs_less(servers) -> None:
    costs = []
    for qps in (0.05, 0.5, 2, 4, 8, 20, 45):
        caller = {"name": "web", "prompt_tokens": 900, "output_tokens": 250, "stream": True}
        plan = servers.plan(
            {
                "traffic.callers": [{**caller, "peak_qps": qps}],
                "placement.prices": "all_prices.yaml",
                "network": {"line": "bgp"},
            }
        )
        assert plan.cost.on_enquiry == 0
        costs.append((plan.cost.monthly, plan.cost.once))
    assert costs == sorted(costs)
    assert costs[0][0] < costs[-1][0]
