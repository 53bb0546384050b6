"""Arguments and options that several commands share."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from warmfleet.errors import WarmfleetError
from warmfleet.project import Project

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = [
    "DEFAULT_ENVIRONMENT",
    "EnvironmentType",
    "HostType",
    "environment_argument",
    "host_arguments",
    "json_option",
]

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


class HostType(click.ParamType[str]):
    """The name of a host; shells complete it from the plan of the environment before it."""

    name = "host"

    def shell_complete(
        self,
        ctx: click.Context,
        param: click.Parameter,  # noqa: ARG002 - click's signature
        incomplete: str,
    ) -> "list[CompletionItem]":
        """Return the hosts whose names start with what was typed."""
        from click.shell_completion import CompletionItem

        from warmfleet.plan.lock import read_lock

        try:
            plan = read_lock(Project.find().plan_file(ctx.params.get("environment") or ""))
        except WarmfleetError:
            return []
        names = [host.name for host in plan.hosts]
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def host_arguments(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``environment`` and ``host``, both needed: who works on a host says where."""
    command = click.argument("host", type=HostType())(command)
    return click.argument("environment", type=EnvironmentType())(command)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
