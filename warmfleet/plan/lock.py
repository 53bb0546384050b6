"""The committed plan: read, write, and compare with what the spec gives now."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import ValidationError

from inference_app.problems import problems, read_json, shown, written
from warmfleet.catalog.load import load_catalog
from warmfleet.errors import (
    PermissionNeededError,
    PlanRefusedError,
    PlanStaleError,
    SourceError,
    SpecError,
)
from warmfleet.plan.models import SCHEMA_VERSION, FleetPlan
from warmfleet.plan.planner import plan_fleet
from warmfleet.project import Project
from warmfleet.resolve.facts import NOTHING_KNOWN, Known, resolve
from warmfleet.resolve.progress import Progress
from warmfleet.spec.document import read_document
from warmfleet.spec.load import located, parse_spec

__all__ = [
    "AnyPlan",
    "check_any_lock",
    "check_lock",
    "differing_fields",
    "dump_plan",
    "plan_environment",
    "plan_spec_file",
    "read_any_lock",
    "read_lock",
    "write_lock",
]

if TYPE_CHECKING:
    from warmfleet.plan.gpu_models import GpuFleetPlan

AnyPlan: TypeAlias = "FleetPlan | GpuFleetPlan"

_NAMED_FIELDS = 3
"""Differing fields that a message names; the rest is counted."""


def plan_environment(
    project: Project,
    environment: str,
    *,
    refresh: bool = False,
    progress: Progress = lambda _: None,
) -> AnyPlan:
    """Plan one environment of the project from its spec, with the facts that its lock has.

    With ``refresh`` sources of weights are asked and files of users read again instead;
    ``progress`` is told of what takes long.

    Raises:
        ProjectNotFoundError: no such environment.
        SpecError: the spec is not valid, or is that of another environment.
        PlanRefusedError: nothing satisfies it.
    """
    path = project.spec_file(environment)
    known = _known(project.plan_file(environment))
    plan = plan_spec_file(path, root=project.root, known=known, refresh=refresh, progress=progress)
    if plan.environment != environment:
        said = f"name: found {plan.environment!r}; needed {environment!r}, the name of the file"
        raise SpecError(located(read_document(path), said))
    return plan


def plan_spec_file(
    path: Path,
    *,
    root: Path,
    known: Known = NOTHING_KNOWN,
    refresh: bool = False,
    progress: Progress = lambda _: None,
) -> AnyPlan:
    """Plan a spec file; relative paths in it start at ``root``.

    ``known`` are facts of an earlier plan; ``refresh`` asks for those that are elsewhere or long to
    read again, and ``progress`` is told of what takes long.

    Raises:
        SpecError: the spec is not valid, or names what is not known.
        SourceError: weights that it names cannot be reached, and the catalog does not know them.
        PlanRefusedError: nothing satisfies it.
    """
    document = read_document(path)
    spec, catalog = parse_spec(document), load_catalog()
    try:
        facts = resolve(spec, catalog, root=root, known=known, refresh=refresh, progress=progress)
        return plan_fleet(spec, facts, catalog)
    except (SpecError, SourceError, PlanRefusedError) as error:
        raise type(error)(located(document, str(error))) from error


def check_lock(project: Project, environment: str) -> FleetPlan:
    """Return the committed plan when it is what the spec gives now and can be brought up.

    Raises:
        PlanStaleError: no lock, or the first fields that differ.
        PlanRefusedError: a plan of leased servers.
    """
    return _to_be_brought_up(check_any_lock(project, environment))


def check_any_lock(project: Project, environment: str) -> AnyPlan:
    """Return the committed plan, of any kind, when it is what the spec gives now.

    Raises:
        PlanStaleError: no lock, or the first fields that differ.
    """
    path = project.plan_file(environment)
    locked = read_any_lock(path)
    current = plan_environment(project, environment)
    differences = list(differing_fields(locked, current))
    if differences:
        named = "; ".join(differences[:_NAMED_FIELDS])
        rest = len(differences) - _NAMED_FIELDS
        more = f"; and {rest} more" if rest > 0 else ""
        msg = f"plan {path} is stale: {named}{more}; {_write_again(environment)}"
        raise PlanStaleError(msg)
    return locked


def read_lock(path: Path) -> FleetPlan:
    """Read the committed plan of an environment that can be brought up.

    Raises:
        PlanStaleError: the file is missing, not a plan, or of another schema version.
        PlanRefusedError: a plan of leased servers.
    """
    return _to_be_brought_up(read_any_lock(path))


def read_any_lock(path: Path) -> AnyPlan:
    """Read a committed plan of any kind.

    Raises:
        PlanStaleError: the file is missing, not a plan, or of another schema version.
    """
    again = _write_again(path.stem)
    try:
        value = read_json(path.read_bytes())
    except FileNotFoundError as error:
        msg = f"plan {path} is missing; {again}"
        raise PlanStaleError(msg) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        msg = f"plan {path} is not readable ({reason}); {again}"
        raise PlanStaleError(msg) from error
    found = value.get("schema_version") if isinstance(value, dict) else None
    if found != SCHEMA_VERSION:
        msg = f"plan {path} has schema version {shown(found)}, needed {SCHEMA_VERSION}; {again}"
        raise PlanStaleError(msg)
    model = _model_of(value)
    try:
        return model.model_validate(value)
    except ValidationError as error:
        where, said = next(iter(problems(error, model, value).items()))
        msg = f"plan {path} is not valid: {written(where) or 'plan'}: {said}; {again}"
        raise PlanStaleError(msg) from error


def write_lock(plan: AnyPlan, path: Path) -> None:
    """Write the plan so that equal plans give equal bytes.

    Raises:
        PermissionNeededError: there cannot be a file of that name.
    """
    draft = path.with_suffix(".json.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(dump_plan(plan), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        msg = f"plan {path} cannot be written: {error.strerror}; needed a file of this user"
        raise PermissionNeededError(msg) from error


def dump_plan(plan: AnyPlan) -> str:
    """Return the plan as the lock file holds it."""
    value = plan.model_dump(mode="json")
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def differing_fields(locked: AnyPlan, current: AnyPlan) -> Iterator[str]:
    """Yield ``FIELD: lock X, now Y`` for each differing leaf: what acts first, then the reasons."""
    old, new = locked.model_dump(mode="json"), current.model_dump(mode="json")
    late = ("spec_sha256", "catalog_version", "decisions")
    for key in sorted(old | new, key=lambda name: (name in late, name)):
        yield from _differences(key, old.get(key), new.get(key))


def _model_of(value: dict[str, Any]) -> "type[FleetPlan] | type[GpuFleetPlan]":
    if value.get("kind") != "baremetal":
        return FleetPlan
    from warmfleet.plan.gpu_models import GpuFleetPlan  # the lab must not wait for it

    return GpuFleetPlan


def _known(path: Path) -> Known:
    """Return the facts of a lock; none where there is no lock that could be read."""
    try:
        plan = read_any_lock(path)
    except PlanStaleError:
        return Known()
    if isinstance(plan, FleetPlan):
        return Known(users=plan.counted_users, probes=plan.probes)
    models = tuple(model.facts for model in plan.models)
    return Known(models, plan.prices, plan.counted_users, plan.probes)


def _to_be_brought_up(plan: AnyPlan) -> FleetPlan:
    if isinstance(plan, FleetPlan):
        return plan
    msg = (
        f"environment {plan.environment}: found placement.kind {plan.kind}; needed lab: this "
        "release plans leased servers but does not adopt them yet; nearest: "
        f"warmfleet plan {plan.environment}"
    )
    raise PlanRefusedError(msg)


def _differences(path: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old | new):
            yield from _differences(f"{path}.{key}", old.get(key), new.get(key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (was, now) in enumerate(zip(old, new, strict=True)):
            yield from _differences(f"{path}[{index}]", was, now)
    elif old != new:
        yield f"{path}: lock {_short(old)}, now {_short(new)}"


def _short(value: Any) -> str:
    if isinstance(value, list):
        return f"{len(value)} entries"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _write_again(environment: str) -> str:
    return f"run: warmfleet plan {environment} --write"
