"""What can be done with the stack of one environment."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from warmfleet.errors import StackError
from warmfleet.project import Project
from warmfleet.stack.engine import Engine
from warmfleet.stack.outputs import OUTPUT_NAME, FleetOutput

__all__ = ["StackResult", "Workspace"]

_Listener = Callable[[str], None]

_NO_STACK = "no stack named"
_FORGET_PENDING = ("refresh", "--yes", "--skip-preview", "--clear-pending-creates")


@dataclass(frozen=True)
class StackResult:
    """What an update gave."""

    fleet: FleetOutput
    changes: dict[str, int]
    """Resources by what was done: create, update, replace, delete, same."""


class Workspace:
    """The stack named like the environment; bare ``pulumi`` in the project folder sees the same."""

    def __init__(self, project: Project, environment: str) -> None:
        self._project = project
        self._environment = environment
        self._engine = Engine(project)

    def up(self, on_event: _Listener) -> StackResult:
        """Make the world what the lock says, after a look at what it is; a new stack when absent.

        Raises:
            StackError: a resource failed, or the stack is locked.
        """
        return self._up(on_event)

    def replace(self, host: str, on_event: _Listener) -> StackResult:
        """Destroy one host and make it anew; nothing else of the stack is touched.

        Raises:
            StackError: the stack has no such host, a resource failed, or the stack is locked.
        """
        return self._up(on_event, "--target-replace", self._urn(host))

    def preview(self, on_event: _Listener) -> dict[str, int]:
        """Return what ``up`` would do, in resources by operation."""
        self._ensure_stack()
        return self._update("preview", "--refresh", on_event=on_event)

    def refresh(self, on_event: _Listener) -> dict[str, int]:
        """Write down what is there; return resources by what was found (update, delete, same)."""
        return self._update("refresh", "--yes", "--skip-preview", on_event=on_event)

    def destroy(self, on_event: _Listener) -> dict[str, int]:
        """Remove everything of the environment, and the stack; return resources by operation."""
        if self._state() is None:
            return {}
        changes = self._update("destroy", "--yes", "--skip-preview", "--remove", on_event=on_event)
        self._forget()
        return changes

    def fleet(self) -> FleetOutput | None:
        """Return the stack's output; None without a stack, or before its first update."""
        answer = self._engine.ask(
            "stack", "output", OUTPUT_NAME, "--json", "--stack", self._environment
        )
        if answer.status == 0:
            return FleetOutput.read(json.loads(answer.stdout))
        if _NO_STACK in answer.stderr or "does not have output" in answer.stderr:
            return None
        msg = f"cannot read the output of stack {self._environment}: {_one_line(answer.stderr)}"
        raise StackError(msg)

    def _up(self, on_event: _Listener, *arguments: str) -> StackResult:
        if self._ensure_stack():
            # What a killed run was making: the provider keeps it, or makes it anew, on `create`.
            on_event("forgetting what a killed run was making: it is looked for")
            self._update(*_FORGET_PENDING, on_event=on_event)
        # With a refresh: after a reboot of this machine every lab host is there, but stopped.
        options = ("--yes", "--skip-preview", "--refresh", *arguments)
        changes = self._update("up", *options, on_event=on_event)
        fleet = self.fleet()
        if fleet is None:
            msg = f"stack {self._environment} has no output {OUTPUT_NAME!r}; run pulumi up again"
            raise StackError(msg)
        return StackResult(fleet, changes)

    def _urn(self, host: str) -> str:
        state = self._state() or {}
        for resource in (state.get("deployment") or {}).get("resources", []):
            # A server is the one kind of resource that is reached by a key of its own.
            if "host_key" in resource.get("outputs", {}) and resource["inputs"]["name"] == host:
                return str(resource["urn"])
        msg = f"stack {self._environment} has no host {host}; run warmfleet up {self._environment}"
        raise StackError(msg)

    def _ensure_stack(self) -> bool:
        """Make the stack when there is none; tell whether a killed run left steps in it."""
        state = self._state()
        if state is None:
            self._engine.command("stack", "init", self._environment, "--no-select")
            return False
        return bool((state["deployment"] or {}).get("pending_operations"))

    def _state(self) -> dict[str, Any] | None:
        """Return the state as Pulumi exports it, secrets encrypted; None without a stack."""
        answer = self._engine.ask("stack", "export", "--stack", self._environment)
        if answer.status == 0:
            state: dict[str, Any] = json.loads(answer.stdout)
            return state
        if _NO_STACK in answer.stderr:
            return None
        msg = f"cannot read the state of stack {self._environment}: {_one_line(answer.stderr)}"
        raise StackError(msg)

    def _update(self, *arguments: str, on_event: _Listener) -> dict[str, int]:
        log = self._engine.update(*arguments, stack=self._environment, on_event=on_event)
        return log.changes

    def _forget(self) -> None:
        """Delete the copies of the state that Pulumi keeps of a removed stack."""
        # Only in our own backend: elsewhere history may be what a team wants to keep.
        backend = self._project.state / "backend" / ".pulumi"
        for pattern in ("backups/*/{}", "history/*/{}", "locks/*/*/{}"):
            for folder in backend.glob(pattern.format(self._environment)):
                shutil.rmtree(folder, ignore_errors=True)
        for copy in backend.glob(f"stacks/*/{self._environment}.json*"):
            copy.unlink(missing_ok=True)


def _one_line(printed: str) -> str:
    return " ".join(printed.split()).removeprefix("error: ")
