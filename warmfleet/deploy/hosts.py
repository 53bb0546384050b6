"""Ansible over the hosts, with progress a person can follow."""

from warmfleet.converge.events import TaskEvent, TaskStatus
from warmfleet.converge.run import ConvergeResult, converge
from warmfleet.deploy.progress import Reporter
from warmfleet.project import Project

__all__ = ["converge_hosts"]


def converge_hosts(
    project: Project,
    environment: str,
    reporter: Reporter,
    *,
    check: bool = False,
    diff: bool = False,
    limit: str | None = None,
) -> ConvergeResult:
    """Run the playbook as a stage; arguments and errors as ``warmfleet.converge.run.converge``."""
    with reporter.stage("converge") as stage:

        def show(event: TaskEvent) -> None:
            stage.update(str(event), passing=event.status is TaskStatus.STARTED)

        return converge(project, environment, check=check, diff=diff, limit=limit, on_event=show)
