import json
import shutil
from pathlib import Path

import pytest

from warmfleet.errors import PlanStaleError, ProjectNotFoundError, SpecError
from warmfleet.plan.lock import (
    check_lock,
    differing_fields,
    dump_plan,
    plan_environment,
    read_lock,
    write_lock,
)
from warmfleet.project import Project

STACKS = Path(__file__).parents[2] / "stacks"


@pytest.fixture
def project(tmp_path: Path, planning) -> Project:
    (tmp_path / "Pulumi.yaml").write_text("name: warmfleet\n")
    (tmp_path / "specs").mkdir()
    shutil.copy(planning.base, tmp_path / "specs" / "test.yaml")
    project = Project(tmp_path)
    write_lock(plan_environment(project, "test"), project.plan_file("test"))
    return project


def _edit_spec(project: Project, old: str, new: str) -> None:
    path = project.spec_file("test")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("environment", Project(STACKS).environments())
def test_committed_locks_are_fresh(environment: str) -> None:
    project = Project(STACKS)

    plan = check_lock(project, environment)

    assert project.plan_file(environment).read_text() == dump_plan(plan)


def test_a_written_lock_reads_back(project: Project) -> None:
    assert read_lock(project.plan_file("test")) == plan_environment(project, "test")
    assert check_lock(project, "test").environment == "test"


def test_writing_again_changes_no_byte(project: Project) -> None:
    path = project.plan_file("test")
    before = path.read_bytes()

    write_lock(read_lock(path), path)

    assert (before, [path.name]) == (
        path.read_bytes(),
        [file.name for file in path.parent.iterdir()],
    )
    assert before.endswith(b"}\n")


def test_comments_and_order_of_the_spec_do_not_matter(project: Project) -> None:
    _edit_spec(project, "name: test\n", "# why\nname: test\n")
    _edit_spec(
        project,
        "    context: 2k\n    max_output: 256\n",
        "    max_output: 256\n    context: 2048\n",
    )

    assert check_lock(project, "test")


def test_a_stale_lock_names_the_first_fields_that_differ(project: Project) -> None:
    _edit_spec(project, "max_output: 256", "max_output: 200")

    with pytest.raises(PlanStaleError) as caught:
        check_lock(project, "test")

    said = str(caught.value)
    path = project.plan_file("test")
    assert said.startswith(
        f"plan {path} is stale: models[0].limits.max_output_tokens: lock 256, now 200; "
    )
    assert said.endswith("; run: warmfleet plan test --write")
    assert len(said.splitlines()) == 1
    assert caught.value.exit_status == 3


def test_another_catalog_makes_a_lock_stale(project: Project) -> None:
    path = project.plan_file("test")
    value = json.loads(path.read_text()) | {"catalog_version": "1999+0"}
    path.write_text(json.dumps(value))

    with pytest.raises(PlanStaleError, match=r'catalog_version: lock "1999\+0", now "2'):
        check_lock(project, "test")


WRITE = "run: warmfleet plan test --write"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "is missing"),
        ("", "is not readable (not JSON: Expecting value (line 1, column 1))"),
        ('{"a": ', "is not readable (not JSON: Expecting value (line 1, column 7))"),
        (
            "<<<<<<< ours\n{}\n",
            "is not readable (not JSON: Expecting value (line 1, column 1))",
        ),
        ('{"a": 1, "a": 2}', "is not readable (a: is there twice; needed once)"),
        ('{"a": NaN}', "is not readable (not JSON: found NaN; needed a finite number)"),
        ("[" * 100_000, "is not readable (nested too deeply)"),
        ("[]", "has schema version null, needed 1"),
        ('{"schema_version": "1"}', "has schema version '1', needed 1"),
        ('{"schema_version": 2}', "has schema version 2, needed 1"),
        ('{"schema_version": 1}', "is not valid: catalog_version: missing"),
    ],
)
def test_what_is_no_lock_is_stale(content: str | None, said: str, project: Project) -> None:
    path = project.plan_file("test")
    if content is None:
        path.unlink()
    else:
        path.write_text(content)

    with pytest.raises(PlanStaleError) as caught:
        read_lock(path)

    assert str(caught.value) == f"plan {path} {said}; {WRITE}"


def test_a_lock_that_was_cut_anywhere_is_stale(project: Project) -> None:
    path = project.plan_file("test")
    whole = path.read_bytes()
    for length in range(0, len(whole) - 2, 97):
        path.write_bytes(whole[:length])
        with pytest.raises(PlanStaleError, match="is not readable") as caught:
            read_lock(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"models": None}, "models: found null; needed a list"),
        ({"models": [5]}, "models[0]: found 5; needed fields as NAME: VALUE"),
        ({"modelz": []}, "modelz: unknown field; did you mean 'models'?"),
        ({"catalog_version": 5}, "catalog_version: found 5; needed text"),
        ({"endpoint": "x"}, "endpoint: found 'x'; needed fields as NAME: VALUE"),
    ],
)
def test_a_lock_with_a_wrong_field_is_stale(
    change: dict[str, object], said: str, project: Project
) -> None:
    path = project.plan_file("test")
    path.write_text(json.dumps(json.loads(path.read_text()) | change))

    with pytest.raises(PlanStaleError) as caught:
        read_lock(path)

    assert str(caught.value) == f"plan {path} is not valid: {said}; {WRITE}"


def test_a_list_that_grew_is_one_difference(project: Project) -> None:
    plan = read_lock(project.plan_file("test"))
    longer = plan.model_copy(update={"decisions": [*plan.decisions, plan.decisions[0]]})

    count = len(plan.decisions)
    assert [f"decisions: lock {count} entries, now {count + 1} entries"] == list(
        differing_fields(plan, longer)
    )


def test_a_spec_of_another_environment_is_refused(project: Project) -> None:
    _edit_spec(project, "name: test\n", "name: other\n")

    with pytest.raises(SpecError, match=r"test\.yaml:2: name: found 'other'; needed 'test'"):
        plan_environment(project, "test")


def test_an_unknown_environment_names_the_known(project: Project) -> None:
    with pytest.raises(ProjectNotFoundError, match=r"environments: test"):
        plan_environment(project, "prod")
