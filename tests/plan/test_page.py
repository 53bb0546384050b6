"""The page of a plan: whole, stable, and a table whatever a value holds."""

from pathlib import Path

from warmfleet.cli.site_view import site_lines
from warmfleet.plan.lock import read_lock
from warmfleet.plan.models import Decision
from warmfleet.plan.page import render_page

LOCK = Path(__file__).resolve().parents[2] / "stacks/plans/lab.json"


def test_the_page_names_every_host_model_timeout_and_choice() -> None:
    plan = read_lock(LOCK)
    page = render_page(plan)
    for name in (
        *(host.name for site in plan.sites for host in site.hosts),
        *(model.name for model in plan.models),
        *type(plan.timeouts).model_fields,
        *(f"`{decision.field}`" for decision in plan.decisions),
    ):
        assert f"| {name} |" in page
    assert page == render_page(plan)


def test_a_bar_or_a_line_break_in_a_reason_stays_in_its_cell() -> None:
    plan = read_lock(LOCK)
    odd = Decision(field="sites", value=["a|b", 1.50], reason="first\nsecond | third")
    page = render_page(plan.model_copy(update={"decisions": [odd]}))
    assert r"| `sites` | a\|b, 1.5 | first second \| third |" in page


def test_a_line_that_is_slower_than_the_times_of_the_users_is_told(servers) -> None:
    plan = servers.plan({"network": {"line": "china-telecom"}})
    (site,) = plan.sites
    said = f"over china-telecom the mean is {site.bandwidth.rtt_ms:.0f} ms"
    assert site.bandwidth.rtt_ms > site.rtt.mean_ms + 1
    assert said in render_page(plan)
    assert any(said in line for line in site_lines(site))

    usual = servers.plan({})
    assert "times here are those of BGP lines" not in render_page(usual)
    assert not any("BGP" in line for line in site_lines(usual.sites[0]))
