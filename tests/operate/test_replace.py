"""What a replacement says before it begins, and what a new gateway is told of the old one."""

import json

import pytest

from tests.operate.conftest import Site
from warmfleet.deploy.progress import Reporter
from warmfleet.errors import OperationRefusedError, PlanStaleError
from warmfleet.operate.drain import drain
from warmfleet.operate.gateways import Gateways
from warmfleet.operate.lock import operators_lock
from warmfleet.operate.replace import _drained_at, replace, warning_of


def test_whoever_confirms_is_told_what_happens(site: Site) -> None:
    assert warning_of(site.target("replica-1")).startswith("replica-1 is destroyed with all it")
    assert warning_of(site.target("gw-1")) == (
        "gw-1 is the only gateway: the endpoint is down until it is made anew"
    )
    (one,) = site.fleet.sites
    second = one.hosts[0].model_copy(update={"name": "gw-2"})
    more = one.model_copy(update={"hosts": [*one.hosts, second]})
    site.fleet = site.fleet.model_copy(update={"sites": [more]})
    assert "clients that use it must use another one" in warning_of(site.target("gw-2"))


def test_drained_hosts_are_handed_over_to_a_new_gateway(site: Site, reporter: Reporter) -> None:
    drain(site.target("replica-1"), reporter)
    with reporter.stage("gateway") as stage:
        drained = _drained_at(site.target("gw-1"), stage)
    assert drained == site.gateway.drained
    site.gateway.drained_file.unlink()  # as on a host that was just made
    with Gateways.open(site.target("gw-1")) as gateways:
        gateways.take_out(drained)
    assert json.loads(site.gateway.drained_file.read_text()) == drained
    assert list(drained) == ["replica-1"]


def test_a_gateway_that_is_gone_is_replaced_all_the_same(
    site: Site, reporter: Reporter, capsys: pytest.CaptureFixture[str]
) -> None:
    site.servers["gw-1"].close()
    with reporter.stage("gateway") as stage:
        assert _drained_at(site.target("gw-1"), stage) == {}
    assert "it is replaced all the same, and hosts that were drained serve" in (
        capsys.readouterr().err
    )


def test_a_gateway_is_not_replaced_under_another_operators_hands(
    site: Site, reporter: Reporter
) -> None:
    with (
        Gateways.open(site.target("replica-2")) as gateways,
        operators_lock(gateways, "restart replica-2"),
        reporter.stage("gateway") as stage,
        pytest.raises(OperationRefusedError, match="another operator is at work"),
    ):
        _drained_at(site.target("gw-1"), stage)


def test_a_host_is_made_from_a_plan_that_is_up_to_date(site: Site, reporter: Reporter) -> None:
    with pytest.raises(PlanStaleError, match=r"lab\.json is missing"):
        replace(site.target("replica-1"), reporter)
    assert site.gateway.drained == {}
