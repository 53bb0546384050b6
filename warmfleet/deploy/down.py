"""The reverse of up: nothing stays behind but logs."""

import shutil

from warmfleet.converge.run_folder import end_left_run
from warmfleet.deploy.progress import Reporter
from warmfleet.project import Project
from warmfleet.stack.credentials import Credentials
from warmfleet.stack.workspace import Workspace

__all__ = ["down"]


def down(project: Project, environment: str, reporter: Reporter) -> dict[str, int]:
    """Destroy the stack, then the credentials that only its hosts knew; return counts by operation.

    Raises:
        ProjectNotFoundError: no such environment.
        StackError: a resource could not be removed; run it again.
    """
    project.spec_file(environment)
    end_left_run(project, environment)
    with reporter.stage("stack") as stage:
        changes = Workspace(project, environment).destroy(stage.update)
    # After the hosts: should destroying fail, the keys are still there to look into why.
    Credentials.remove(project, environment)
    for path in project.environment_state(environment).iterdir():
        if path.name != "logs":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return changes
