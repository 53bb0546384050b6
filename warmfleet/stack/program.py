"""The Pulumi program: from the committed plan of the stack's name to a fleet."""

import pulumi

from warmfleet.errors import WarmfleetError
from warmfleet.plan.lock import check_lock
from warmfleet.project import Project
from warmfleet.provider.image import image_tag
from warmfleet.stack.credentials import Credentials
from warmfleet.stack.fleet import InferenceFleet, InferenceFleetArgs
from warmfleet.stack.outputs import OUTPUT_NAME

__all__ = ["run"]


def run() -> None:
    """Declare the environment that the stack is named after.

    Raises:
        RunError: a stale lock, an unknown environment, ...; one line.
    """
    environment = pulumi.get_stack()
    try:
        project = Project.find()
        plan = check_lock(project, environment)
        credentials = Credentials.ensure_for(project, plan)
    except WarmfleetError as error:
        # The one exception that reaches the user as its message alone.
        raise pulumi.RunError(str(error)) from error
    fleet = InferenceFleet(
        environment,
        InferenceFleetArgs(plan=plan, image=image_tag(), authorized_key=credentials.ssh_public_key),
    )
    pulumi.export(OUTPUT_NAME, fleet.output)
