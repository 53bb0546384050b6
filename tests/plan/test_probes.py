"""The user's own round-trip times in a plan: they come first, are told, and live in the lock."""

from pathlib import Path

import pytest

from warmfleet.catalog.load import load_catalog
from warmfleet.errors import PlanStaleError, SpecError
from warmfleet.plan.html_page import render_html
from warmfleet.plan.lock import check_any_lock, dump_plan, plan_environment, write_lock
from warmfleet.plan.page import render_page
from warmfleet.project import Project

SPEC = """\
apiVersion: warmfleet/v1
name: own
models:
  - {name: chat, source: {hf: Qwen/Qwen2.5-7B-Instruct}, task: chat, context: 4k, max_output: 512}
traffic:
  callers:
    - {name: app, peak_qps: 1, prompt_tokens: 500, output_tokens: 200, stream: true}
users:
  - {where: CN-GD, share: 60%}
  - {where: SG, share: 40%}
network: {probes: probes.csv}
placement: {kind: baremetal, sites: {regions: [singapore, hongkong]}}
"""
PROBES = """\
place,region,rtt_ms,carrier
CN-GD,hongkong,90,
CN-GD,hongkong,95,
CN-GD,hongkong,300,
CN-GD,singapore,41,china-mobile
CN-GD,singapore,43,china-telecom
JP,tokyo,3,
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "Pulumi.yaml").write_text("name: warmfleet\n")
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "own.yaml").write_text(SPEC)
    (tmp_path / "probes.csv").write_text(PROBES)
    return Project(tmp_path)


def test_probes_decide_where_the_site_is(project: Project) -> None:
    spec = project.spec_file("own")
    probed = plan_environment(project, "own")
    spec.write_text(SPEC.replace("network: {probes: probes.csv}\n", ""))
    estimated = plan_environment(project, "own")

    assert (estimated.sites[0].region, probed.sites[0].region) == ("hongkong", "singapore")
    assert estimated.probes is None
    users = {row.where: (row.basis, row.rtt_ms) for row in probed.sites[0].users}
    # 41 and 43 by the shares of these two carriers among the users.
    assert users["CN-GD"] == ("probed", pytest.approx(41.769, abs=0.001))
    assert users["SG"][0] in {"measured", "modelled"}
    assert probed.sites[0].bandwidth.rtt_ms < estimated_at_singapore(project)


def estimated_at_singapore(project: Project) -> float:
    project.spec_file("own").write_text(
        SPEC.replace("network: {probes: probes.csv}\n", "").replace(", hongkong]", "]")
    )
    return plan_environment(project, "own").sites[0].bandwidth.rtt_ms


def test_a_plan_says_what_was_probed(project: Project) -> None:
    plan = plan_environment(project, "own")

    told = next(row for row in plan.decisions if row.field == "probes.rows")
    region = next(row for row in plan.decisions if row.field == "sites[0].region")
    assert (told.value, told.source) == (6, "probes.csv")
    assert told.inputs == {
        "CN-GD to singapore (china-mobile)": 41, "CN-GD to singapore (china-telecom)": 43,
    }  # fmt: skip
    assert "of 4 paths, 2 of them between users and sites of this plan" in told.reason
    assert "probed" in region.reason
    assert "probes of the user" in (region.source or "")
    assert "probed" in render_page(plan)
    assert "probed" in render_html(plan, load_catalog())


def test_the_lock_has_the_probes_and_another_file_makes_it_stale(project: Project) -> None:
    file, first = project.root / "probes.csv", plan_environment(project, "own")
    write_lock(first, project.plan_file("own"))

    file.unlink()
    assert dump_plan(check_any_lock(project, "own")) == dump_plan(first)
    with pytest.raises(SpecError, match=r"own\.yaml:11: network\.probes: probes\.csv: No such"):
        plan_environment(project, "own", refresh=True)

    file.write_text(PROBES.replace("41", "44"))
    with pytest.raises(PlanStaleError, match=r"probes\.paths\[\d\]\.rtt_ms: lock 41\.0, now 44\.0"):
        check_any_lock(project, "own")


def test_what_is_wrong_in_the_file_is_told_with_both_places(project: Project) -> None:
    (project.root / "probes.csv").write_text(PROBES.replace("JP,tokyo", "JP,tokio"))

    with pytest.raises(SpecError) as caught:
        plan_environment(project, "own")

    assert str(caught.value).endswith(
        "own.yaml:11: network.probes: probes.csv line 7: region: found 'tokio', which the catalog "
        "does not know; did you mean 'tokyo'?"
    )
