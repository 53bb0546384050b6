"""Arguments and options that several commands share."""

from typing import TYPE_CHECKING

import click

from warmfleet.errors import WarmfleetError
from warmfleet.project import Project

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["DEFAULT_ENVIRONMENT", "EnvironmentType", "environment_argument", "json_option"]

DEFAULT_ENVIRONMENT = "lab"
"""The environment that needs nothing but this machine."""


class EnvironmentType(click.ParamType[str]):
    """The name of an environment; shells complete it from the project's specs."""

    name = "environment"

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> "list[CompletionItem]":
        """Return the environments whose names start with what was typed."""
        from click.shell_completion import CompletionItem

        try:
            names = Project.find().environments()
        except WarmfleetError:
            return []
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


environment_argument = click.argument(
    "environment", type=EnvironmentType(), default=DEFAULT_ENVIRONMENT
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
