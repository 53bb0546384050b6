"""A restart takes the host out first, and brings it back only when it is warm."""

import pytest

from tests.operate.conftest import Site
from warmfleet.deploy.progress import Reporter
from warmfleet.errors import NameUnknownError, OperationError, OperationRefusedError
from warmfleet.operate.drain import drain
from warmfleet.operate.restart import restart

FAILED = """
level=INFO logger=inference_app.service event=state state=failed
level=ERROR logger=inference_app.run event=failed reason='cut weights; key wf-AAAAAAAAAAAAAAAA'
warmfleet-inference@chat.service: Failed with result 'exit-code'.
"""


def test_a_drained_host_is_restarted_and_stays_drained(site: Site, reporter: Reporter) -> None:
    drain(site.target("replica-1"), reporter)
    calls = site.programs / "calls"
    site.program("systemctl", f'echo "$@" >> {calls}')
    result = restart(site.target("replica-1"), None, reporter)
    assert calls.read_text() == "restart warmfleet-inference@chat.service\n"
    assert list(result.warm_after_s) == ["chat"]
    assert (result.drained, result.answer) == (True, None)
    assert list(site.gateway.drained) == ["replica-1"]


def test_the_host_is_out_while_its_service_restarts_and_stays_out_when_it_fails(
    site: Site, reporter: Reporter, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = site.programs / "seen"
    site.program(
        "systemctl",
        f"cp {site.gateway.drained_file} {seen}; sleep 2.5; echo 'Job failed. See logs.'; exit 1",
    )
    site.program("journalctl", f'cat <<"END"{FAILED}END')
    with pytest.raises(OperationError) as caught:
        restart(site.target("replica-1"), "chat", reporter)
    assert "replica-1" in seen.read_text()
    assert str(caught.value) == (
        "chat on replica-1 did not get warm: cut weights; key ***; "
        "see: warmfleet logs lab replica-1"
    )
    assert list(site.gateway.drained) == ["replica-1"]
    shown = capsys.readouterr().err
    assert "Failed with result 'exit-code'." in shown
    assert "wf-A" not in shown
    assert shown.splitlines()[-1] == (
        "replica-1 stays drained; when it is well: warmfleet undrain lab replica-1"
    )


def test_systemds_word_counts_where_the_journal_has_none(site: Site, reporter: Reporter) -> None:
    site.program("systemctl", "echo 'Failed to restart: Unit is masked.' >&2; exit 1")
    site.program("journalctl", "true")
    with pytest.raises(OperationError, match=r"did not get warm: Failed to restart: Unit is mask"):
        restart(site.target("replica-1"), None, reporter)


def test_a_host_that_no_gateway_finds_ready_stays_drained(site: Site, reporter: Reporter) -> None:
    site.gateway.ready["replica-1"] = False
    site.program("systemctl", "true")
    with pytest.raises(OperationError, match="no gateway found replica-1 ready within 2 s"):
        restart(site.target("replica-1"), None, reporter)
    assert list(site.gateway.drained) == ["replica-1"]


def test_nothing_is_restarted_where_the_floor_would_be_crossed(
    site: Site, reporter: Reporter
) -> None:
    site.gateway.ready["replica-2"] = False
    site.program("systemctl", f"touch {site.programs}/called")
    with pytest.raises(OperationRefusedError, match="status lab shows why others are not ready"):
        restart(site.target("replica-1"), None, reporter)
    assert not (site.programs / "called").exists()


def test_models_and_gateways_are_told_apart(site: Site, reporter: Reporter) -> None:
    with pytest.raises(NameUnknownError, match="serves no model 'code'; it serves chat"):
        restart(site.target("replica-1"), "code", reporter)
    with pytest.raises(OperationRefusedError, match="needed: a replica to restart"):
        restart(site.target("gw-1"), None, reporter)
