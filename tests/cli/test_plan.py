import json
from pathlib import Path

import pytest

from warmfleet.project import PROJECT_VARIABLE, Project


def test_people_get_hosts_and_every_decision_with_its_reason(run, project: Project) -> None:
    result = run("plan", "test")

    assert result.exit_code == 0
    for expected in ("https://127.0.0.1:8443", "gw-1", "replica-2", "guangzhou"):
        assert expected in result.stdout
    plan = json.loads(project.plan_file("test").read_text())
    for decision in plan["decisions"]:
        assert decision["field"] in result.stdout
        assert decision["reason"][:30] in result.stdout


def test_machines_get_the_plan(run, project: Project) -> None:
    result = run("plan", "test", "--json")

    assert json.loads(result.stdout) == json.loads(project.plan_file("test").read_text())
    assert result.stderr == ""


def test_check_says_that_a_lock_is_fresh(run, project: Project) -> None:  # noqa: ARG001
    result = run("plan", "test", "--check")

    assert result.exit_code == 0
    assert result.stderr == "plan test is what its spec gives\n"


def test_check_ends_with_3_and_names_what_differs(run, project: Project) -> None:
    spec = project.spec_file("test")
    spec.write_text(spec.read_text().replace("port: 8443", "port: 9443"))

    result = run("plan", "test", "--check")

    assert result.exit_code == 3
    assert "endpoint.port: lock 8443, now 9443" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_write_makes_a_stale_lock_fresh(run, project: Project) -> None:
    spec = project.spec_file("test")
    spec.write_text(spec.read_text().replace("port: 8443", "port: 9443"))

    written = run("plan", "test", "--write")

    assert (written.exit_code, written.stderr) == (0, f"wrote {project.plan_file('test')}\n")
    assert run("plan", "test", "--check").exit_code == 0


def test_a_spec_in_a_project_is_its_environment(run, project: Project, monkeypatch) -> None:
    monkeypatch.delenv(PROJECT_VARIABLE)

    assert run("plan", str(project.spec_file("test")), "--check").exit_code == 0


def test_a_spec_alone_is_planned_but_has_no_lock(run, project: Project, tmp_path: Path) -> None:
    path = tmp_path / "alone.yaml"
    path.write_text(project.spec_file("test").read_text())

    assert run("plan", str(path), "--json").exit_code == 0
    refused = run("plan", str(path), "--write")
    assert refused.exit_code == 2
    assert "--write needs an environment" in refused.stderr


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("models[0].engine.slots", ["models[0].engine.slots"]),
        ("slots", ["models[0].engine.slots"]),
        (
            "models[0].engine",
            [f"models[0].engine.{name}" for name in ("kind", "slots", "batch_tokens")],
        ),
    ],
)
def test_explain_shows_numbers_and_sources(field, fields, run, project: Project) -> None:  # noqa: ARG001
    result = run("plan", "test", "--explain", field, "--json")

    decisions = json.loads(result.stdout)
    assert fields == [decision["field"] for decision in decisions]
    text = run("plan", "test", "--explain", field).stdout
    for decision in decisions:
        assert decision["field"] in text
        assert all(name in text for name in decision["inputs"])
        assert decision["source"][:40] in text


def test_explain_of_nothing_names_the_nearest(run, project: Project) -> None:  # noqa: ARG001
    result = run("plan", "test", "--explain", "slotz")

    assert result.exit_code == 2
    assert "did you mean 'models[0].engine.slots'?" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["prod"], 2, "no environment 'prod'"),
        (["none.yaml"], 2, "no spec none.yaml"),
        (["test", "--write", "--check"], 2, "exclude each other"),
        (["test", "--markdown", "--html", "p.html"], 2, "are forms of their own"),
        (["test", "--json", "--html", "p.html"], 2, "are forms of their own"),
        (["test", "--html", "none/p.html"], 1, "No such file or directory; needed a file"),
    ],
)
def test_what_cannot_be_planned(arguments, status, said, run, project: Project) -> None:  # noqa: ARG001
    result = run("plan", *arguments)

    assert (result.exit_code, len(result.stderr.splitlines())) == (status, 1)
    assert said in result.stderr


def test_no_project_is_one_line(run, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv(PROJECT_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)

    result = run("plan")

    assert result.exit_code == 2
    assert result.stderr.startswith("error: no Pulumi.yaml in ")


def test_a_wrong_spec_is_one_line_with_its_place(run, project: Project) -> None:
    spec = project.spec_file("test")
    spec.write_text(spec.read_text().replace("context: 2k", "contxt: 2k"))

    result = run("plan", "test", "--json")

    assert result.exit_code == 2
    assert f"error: {spec}:7: models[0].contxt: unknown field; did you mean" in result.stderr
    assert json.loads(result.stdout)["error"]["code"] == "spec-invalid"


def test_a_page_in_html_is_written_and_named(run, project: Project, tmp_path: Path) -> None:  # noqa: ARG001
    path = tmp_path / "plan.html"

    result = run("plan", "test", "--html", str(path))

    assert (result.exit_code, result.stdout, result.stderr) == (0, "", f"wrote {path}\n")
    assert path.read_text().startswith("<!DOCTYPE html>")
