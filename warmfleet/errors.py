"""Every error that a person is meant to read.

::

    WarmfleetError                 code               exit
    ├── SpecError                  spec-invalid       2   (also ValueError)
    ├── SourceError                source-unreadable  1   (also ConnectionError)
    ├── PlanRefusedError           plan-refused       1   (also ValueError)
    ├── PlanStaleError             plan-stale         3
    ├── ProjectNotFoundError       project-not-found  2   (also FileNotFoundError)
    ├── ToolMissingError           tool-missing       1   (also FileNotFoundError)
    ├── PermissionNeededError      permission-needed  1   (also PermissionError)
    ├── EnvironmentBusyError       environment-busy   1   (also BlockingIOError)
    ├── DiskFullError              disk-full          1   (also OSError)
    ├── StackError                 stack-failed       1   (also RuntimeError)
    ├── HostUnreachableError       host-unreachable   1   (also ConnectionError)
    ├── ConvergeError              converge-failed    1   (also RuntimeError)
    ├── EndpointError              endpoint-failed    1   (also RuntimeError)
    ├── NameUnknownError           name-unknown       2   (also ValueError)
    ├── OperationError             operation-failed   1   (also RuntimeError)
    └── OperationRefusedError      operation-refused  4

A message is one line: what was found, what is needed, what to do next. Errors of other libraries
are converted where they enter, with ``raise ... from``.
"""

from typing import ClassVar

__all__ = [
    "ConvergeError",
    "DiskFullError",
    "EndpointError",
    "EnvironmentBusyError",
    "HostUnreachableError",
    "NameUnknownError",
    "OperationError",
    "OperationRefusedError",
    "PermissionNeededError",
    "PlanRefusedError",
    "PlanStaleError",
    "ProjectNotFoundError",
    "SourceError",
    "SpecError",
    "StackError",
    "ToolMissingError",
    "WarmfleetError",
]


class WarmfleetError(Exception):
    """Base of all; ``code`` is stable for machines, ``exit_status`` is the CLI's."""

    code: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 1


class SpecError(WarmfleetError, ValueError):
    """The spec (or another file a person wrote) is not valid."""

    code = "spec-invalid"
    exit_status = 2


class SourceError(WarmfleetError, ConnectionError):
    """Weights that the spec names lie where nothing can be read now."""

    code = "source-unreadable"


class PlanRefusedError(WarmfleetError, ValueError):
    """The spec is valid, but nothing that can be rented or run satisfies it."""

    code = "plan-refused"


class PlanStaleError(WarmfleetError):
    """The committed plan is missing or differs from what the spec gives now."""

    code = "plan-stale"
    exit_status = 3


class ProjectNotFoundError(WarmfleetError, FileNotFoundError):
    """No folder with a Warmfleet ``Pulumi.yaml``, or no such environment in it."""

    code = "project-not-found"
    exit_status = 2


class ToolMissingError(WarmfleetError, FileNotFoundError):
    """A program that the command needs is not on PATH."""

    code = "tool-missing"


class PermissionNeededError(WarmfleetError, PermissionError):
    """The command needs rights (root, a group) that the user lacks."""

    code = "permission-needed"


class EnvironmentBusyError(WarmfleetError, BlockingIOError):
    """Another command is changing the environment."""

    code = "environment-busy"


class DiskFullError(WarmfleetError, OSError):
    """A disk of the control machine has too little room."""

    code = "disk-full"


class StackError(WarmfleetError, RuntimeError):
    """The Pulumi engine or a resource of the stack failed."""

    code = "stack-failed"


class HostUnreachableError(WarmfleetError, ConnectionError):
    """A host does not answer over SSH, or shows a host key that is not the pinned one."""

    code = "host-unreachable"


class ConvergeError(WarmfleetError, RuntimeError):
    """An Ansible task failed."""

    code = "converge-failed"


class EndpointError(WarmfleetError, RuntimeError):
    """The endpoint does not answer as it should."""

    code = "endpoint-failed"


class NameUnknownError(WarmfleetError, ValueError):
    """The environment has no host, or no model, of that name."""

    code = "name-unknown"
    exit_status = 2


class OperationError(WarmfleetError, RuntimeError):
    """Work on one host did not come to its end."""

    code = "operation-failed"


class OperationRefusedError(WarmfleetError):
    """Work on one host would harm the endpoint, or another operator's work; nothing was done."""

    code = "operation-refused"
    exit_status = 4
