"""What a command plans: an environment of the project, or a spec file on its own."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from warmfleet.errors import ProjectNotFoundError
from warmfleet.project import Project

if TYPE_CHECKING:
    from warmfleet.plan.lock import AnyPlan

__all__ = ["find_target", "plan_target"]


def plan_target(target: str, *, refresh: bool = False) -> "AnyPlan":
    """Plan an environment or a spec file; raises as plan_environment does."""
    from warmfleet.plan import lock

    project, environment, spec = find_target(target)
    if project is not None and environment is not None:
        return lock.plan_environment(project, environment, refresh=refresh, progress=_tell)
    return lock.plan_spec_file(spec, root=spec.parent, refresh=refresh, progress=_tell)


def find_target(target: str) -> tuple[Project | None, str | None, Path]:
    """Return project and environment of the target; both are None for a spec on its own.

    Raises:
        ProjectNotFoundError: there is no such file, project or environment.
    """
    path = Path(target)
    if path.suffix not in {".yaml", ".yml"}:
        project = Project.find()
        return project, target, project.spec_file(target)
    if not os.path.isfile(path):
        msg = f"no spec {path}; needed a file, or the name of an environment"
        raise ProjectNotFoundError(msg)
    folder = path.resolve().parent
    if folder.name == "specs" and (folder.parent / "Pulumi.yaml").is_file():
        return Project(folder.parent), path.stem, path
    return None, None, path


def _tell(said: str) -> None:
    click.echo(said, err=True)
