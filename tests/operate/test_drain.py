"""A host is taken out only where enough others serve, and only by one operator at a time."""

import json
import socket

import pytest

from tests.operate.conftest import Site
from warmfleet.deploy.progress import Reporter
from warmfleet.errors import HostUnreachableError, OperationError, OperationRefusedError
from warmfleet.operate import lock as lock_module
from warmfleet.operate.drain import drain, undrain
from warmfleet.operate.gateways import Gateways
from warmfleet.operate.lock import operators_lock


def test_a_drain_waits_for_what_is_under_way(
    site: Site, reporter: Reporter, capsys: pytest.CaptureFixture[str]
) -> None:
    site.gateway.in_flight["replica-1"] = [2, 2, 2, 1, 0]
    result = drain(site.target("replica-1"), reporter)
    assert (result.drained, result.changed, result.serving) == (True, True, False)
    note = site.gateway.drained["replica-1"]
    assert note == {"by": result.by, "since": result.since}
    assert str(note["by"]).endswith(f"@{socket.gethostname()}")
    shown = capsys.readouterr().err
    assert "2 requests under way" in shown
    assert "1 request under way" in shown


def test_a_second_drain_says_that_it_is_drained_and_by_whom(site: Site, reporter: Reporter) -> None:
    first = drain(site.target("replica-1"), reporter)
    second = drain(site.target("replica-1"), reporter)
    assert (first.changed, second.changed) == (True, False)
    assert (second.by, second.since) == (first.by, first.since)


def test_undrain_gives_back_this_host_alone(site: Site, reporter: Reporter) -> None:
    site.gateway.ready |= {"replica-3": True}
    for name in ("replica-1", "replica-2"):
        drain(site.target(name), reporter)
    result = undrain(site.target("replica-1"), reporter)
    assert (result.drained, result.changed, result.serving) == (False, True, True)
    assert list(site.gateway.drained) == ["replica-2"]
    again = undrain(site.target("replica-1"), reporter)
    assert (again.changed, again.serving) == (False, True)


def test_a_host_that_is_not_ready_serves_later(site: Site, reporter: Reporter) -> None:
    drain(site.target("replica-1"), reporter)
    site.gateway.ready["replica-1"] = False
    assert undrain(site.target("replica-1"), reporter).serving is False


def test_the_floor_is_kept_and_nothing_is_changed(site: Site, reporter: Reporter) -> None:
    drain(site.target("replica-1"), reporter)
    with pytest.raises(OperationRefusedError) as caught:
        drain(site.target("replica-2"), reporter)
    assert str(caught.value) == (
        "no ready replicas of chat would serve without replica-2; needed: 1 (updates.floor in the "
        "spec); do first: warmfleet undrain lab replica-1"
    )
    assert list(site.gateway.drained) == ["replica-1"]


def test_a_floor_of_two_is_counted(site: Site, reporter: Reporter) -> None:
    site.gateway.ready["replica-3"] = False
    updates = site.plan.updates.model_copy(update={"floor": 2})
    site.plan = site.plan.model_copy(update={"updates": updates})
    with pytest.raises(OperationRefusedError) as caught:
        drain(site.target("replica-2"), reporter)
    assert str(caught.value) == (
        "1 ready replica of chat would serve without replica-2: replica-1; needed: 2 (updates.floor"
        " in the spec); do first: warmfleet status lab shows why others are not ready"
    )
    site.gateway.ready["replica-3"] = True
    assert drain(site.target("replica-2"), reporter).changed


def test_a_replica_that_serves_nobody_may_always_be_drained(site: Site, reporter: Reporter) -> None:
    site.gateway.ready |= {"replica-1": False, "replica-2": False}
    assert drain(site.target("replica-1"), reporter).drained
    assert drain(site.target("replica-2"), reporter).drained


def test_a_floor_of_nothing_says_what_it_costs(
    site: Site, reporter: Reporter, capsys: pytest.CaptureFixture[str]
) -> None:
    site.plan = site.plan.model_copy(
        update={"updates": site.plan.updates.model_copy(update={"floor": 0})}
    )
    drain(site.target("replica-1"), reporter)
    result = drain(site.target("replica-2"), reporter)
    assert result.unserved_models == ["chat"]
    assert "no replica serves chat now: requests wait" in capsys.readouterr().err


def test_requests_that_never_end_are_told_after_the_time_limit(
    site: Site, reporter: Reporter
) -> None:
    site.gateway.in_flight["replica-1"] = [1]
    with pytest.raises(OperationError, match=r"^1 request still under way at replica-1 after 1 s"):
        drain(site.target("replica-1"), reporter)
    assert list(site.gateway.drained) == ["replica-1"]


def test_a_gateway_that_does_not_follow_is_told(site: Site, reporter: Reporter) -> None:
    site.gateway.follows = False
    with pytest.raises(OperationError, match=r"^gateway gw-1 has not followed its list of drained"):
        drain(site.target("replica-1"), reporter)


def test_a_gateway_is_not_drained(site: Site, reporter: Reporter) -> None:
    with pytest.raises(OperationRefusedError, match=r"found gw-1, a gateway: .* replace lab gw-1$"):
        drain(site.target("gw-1"), reporter)


@pytest.mark.parametrize("damage", ["{", "[]"])
def test_a_damaged_list_is_told_and_left(site: Site, reporter: Reporter, damage: str) -> None:
    site.gateway.follows = False
    site.gateway.drained_file.parent.mkdir()
    site.gateway.drained_file.write_text(damage)
    with pytest.raises(OperationError, match=r"is no JSON object .*; mend or remove it: warmfleet"):
        drain(site.target("replica-1"), reporter)
    assert site.gateway.drained_file.read_text() == damage


def test_a_list_that_cannot_be_written_names_the_reason(site: Site, reporter: Reporter) -> None:
    site.program("sync", "echo 'sync: no space' >&2; exit 1")
    with pytest.raises(OperationError, match=r"on gw-1 could not be written: sync: no space"):
        drain(site.target("replica-1"), reporter)
    assert site.gateway.drained == {}


def test_a_gateway_that_is_gone_would_not_hear_of_it(site: Site, reporter: Reporter) -> None:
    site.servers["gw-1"].close()
    with pytest.raises(HostUnreachableError, match=r"host gw-1 .* is not reachable"):
        drain(site.target("replica-1"), reporter)


def test_a_second_operator_is_refused_and_told_who_is_at_work(
    site: Site, reporter: Reporter
) -> None:
    with (
        Gateways.open(site.target("replica-2")) as gateways,
        operators_lock(gateways, "restart replica-2"),
    ):
        with pytest.raises(OperationRefusedError) as caught:
            drain(site.target("replica-1"), reporter)
        assert str(caught.value).startswith("another operator is at work: restart replica-2 by ")
        assert site.gateway.drained == {}
    assert drain(site.target("replica-1"), reporter).drained


def test_the_lock_ends_with_the_connection(site: Site, reporter: Reporter) -> None:
    with (
        Gateways.open(site.target("replica-2")) as gateways,
        operators_lock(gateways, "restart replica-2"),
    ):
        _, tunnel = gateways.first
        tunnel._transport.close()  # as when the operator's machine is gone
        assert drain(site.target("replica-1"), reporter).drained


@pytest.mark.parametrize("silent", [True, False])
def test_the_lock_ends_when_its_holder_falls_silent(
    site: Site, reporter: Reporter, monkeypatch: pytest.MonkeyPatch, silent: bool
) -> None:
    # As with a cut network, where the host goes on to believe in the connection.
    monkeypatch.setattr(lock_module, "_BEAT_S", 60 if silent else 0.2)
    monkeypatch.setattr(lock_module, "_HOLD", lock_module._HOLD.replace("-t 60", "-t 1"))
    monkeypatch.setattr(lock_module, "_PATIENCE_S", 10 if silent else 2)
    with (
        Gateways.open(site.target("replica-2")) as gateways,
        operators_lock(gateways, "restart replica-2"),
    ):
        if silent:
            assert drain(site.target("replica-1"), reporter).drained
            return
        with pytest.raises(OperationRefusedError, match="another operator is at work"):
            drain(site.target("replica-1"), reporter)


def test_the_lock_that_cannot_be_taken_is_told(site: Site, reporter: Reporter) -> None:
    site.program("flock", "echo 'flock: no such file' >&2; exit 66")
    with pytest.raises(OperationError, match=r"cannot be taken \(flock: no such file\)"):
        drain(site.target("replica-1"), reporter)


def test_a_note_that_somebody_wrote_by_hand_is_kept(site: Site, reporter: Reporter) -> None:
    site.gateway.drained_file.parent.mkdir()
    site.gateway.drained_file.write_text(json.dumps({"replica-1": "disk is failing"}))
    result = drain(site.target("replica-1"), reporter)
    assert (result.changed, result.by) == (False, None)
    assert site.gateway.drained == {"replica-1": "disk is failing"}
