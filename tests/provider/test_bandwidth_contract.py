import pytest

from warmfleet.provider.bandwidth_contract import BandwidthContract
from warmfleet.provider.resource import Change


@pytest.fixture
def contract():
    return BandwidthContract()


def test_good_inputs_pass(contract, contract_inputs):
    assert contract.check(contract_inputs) == []


def test_every_failure_is_collected(contract, contract_inputs):
    wrong = {**contract_inputs, "committed_mbps": 0, "carriers": [], "line": ""}
    assert {f.property for f in contract.check(wrong)} == {"committed_mbps", "carriers", "line"}


def test_burst_below_committed_is_refused(contract, contract_inputs):
    [failure] = contract.check({**contract_inputs, "burst_mbps": 50})
    assert failure.reason.startswith("burst_mbps 50 is below committed_mbps 100; needed: ")


@pytest.mark.parametrize(
    ("name", "value", "change"),
    [
        ("committed_mbps", 200, Change("committed_mbps", "update")),
        ("burst_mbps", 400, Change("burst_mbps", "update")),
        ("carriers", ["china-mobile"], Change("carriers", "update")),
        ("reference", "SZ-1042", Change("reference", "add")),
        ("region", "beijing", Change("region", "update", replaces=True)),
        ("line", "cn2", Change("line", "update", replaces=True)),
    ],
)
def test_a_rate_is_amended_and_another_line_is_another_contract(
    contract, contract_inputs, name, value, change
):
    state = contract.create(contract_inputs)
    assert contract.diff(state, {**contract_inputs, name: value}) == [change]


def test_an_update_leaves_nothing_to_change(contract, contract_inputs):
    news = {**contract_inputs, "committed_mbps": 150}
    state = contract.update(contract.create(contract_inputs), news)
    assert contract.diff(state, news) == []
    assert contract.read("test/shenzhen/bgp", state) == news
