"""One run of ``roles/site.yml`` over an environment, by ansible-runner."""

import json
import logging
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ansible_runner

from warmfleet.content import content_root
from warmfleet.converge.compose import Composed, compose_inventory
from warmfleet.converge.events import TaskEvent, read_event
from warmfleet.converge.locks import LockHeldError, exclusive
from warmfleet.converge.processes import end_marked
from warmfleet.converge.recap import ConvergeResult, Recap
from warmfleet.converge.run_folder import (
    IDENT,
    MARK,
    end_left_run,
    fresh_run,
    run_of,
    runner_folder,
    temporary_folder,
)
from warmfleet.converge.strategy import strategy_variables
from warmfleet.errors import ConvergeError
from warmfleet.project import PROJECT_VARIABLE, Project

__all__ = ["ConvergeResult", "OnEvent", "converge", "run_playbook"]

OnEvent = Callable[[TaskEvent], None]

_BASE_LIMIT_S = 1800
_STOPPED = ("canceled", "timeout")
_ERROR_MARKS = ("[ERROR]: ", "ERROR! ")

logger = logging.getLogger(__name__)


def converge(
    project: Project,
    environment: str,
    *,
    check: bool = False,
    diff: bool = False,
    limit: str | None = None,
    on_event: OnEvent,
) -> ConvergeResult:
    """Bring the hosts of an environment to what its plan says.

    With ``check`` nothing is changed; ``diff`` puts differences of files in the log; ``limit`` is
    Ansible's host pattern. ``on_event`` is called for every step of every host.

    Raises:
        ConvergeError: a task failed (host, task, message), the run took too long, or another one
            of this environment is going on.
        HostUnreachableError: a host did not answer, or showed another host key.
        StackError, PlanStaleError, ProjectNotFoundError: there is nothing to converge.
    """
    composed = compose_inventory(project, environment, logger.info)
    return run_playbook(
        content_root() / "roles" / "site.yml",
        composed,
        project,
        environment,
        options=[*(["--check"] if check else []), *(["--diff"] if diff else [])],
        limit=limit,
        on_event=on_event,
    )


def run_playbook(
    playbook: Path,
    composed: Composed,
    project: Project,
    environment: str,
    *,
    options: list[str],
    limit: str | None,
    on_event: OnEvent,
) -> ConvergeResult:
    """Run one playbook over a composed inventory; errors as for ``converge``."""
    folder = runner_folder(project, environment)
    folder.mkdir(mode=0o700, exist_ok=True)
    try:
        with exclusive(folder / ".lock", wait=False):
            began = time.monotonic()
            limit_s = int(composed.limit_s) + _BASE_LIMIT_S
            run = _Run(on_event)
            inventory = _write_inventory(folder, composed.inventory)
            end_left_run(project, environment)
            with temporary_folder(folder) as temporary, _interruptible() as interrupted:
                outcome = ansible_runner.run(
                    private_data_dir=str(fresh_run(folder)),
                    ident=IDENT,
                    playbook=str(playbook),
                    inventory=str(inventory),
                    envvars=_environment(project, environment, run_of(folder), temporary),
                    cmdline=" ".join(options) or None,
                    limit=limit,
                    timeout=limit_s,
                    settings={"pexpect_timeout": 1},
                    quiet=True,
                    event_handler=run.handle,
                    status_handler=_forget_environment,
                    cancel_callback=interrupted.is_set,
                )
            if outcome.status in _STOPPED:
                ended = end_marked(MARK, outcome.config.artifact_dir)
                logger.info("run %s; ended %d processes it left", outcome.status, ended)
            if interrupted.is_set():
                raise KeyboardInterrupt
    except LockHeldError as error:
        msg = f"another converge of {environment} is running; wait for it or stop it"
        raise ConvergeError(msg) from error
    if failure := run.recap.error(composed.fleet, environment):
        raise failure
    if outcome.status == "timeout":
        raise ConvergeError(f"ansible-playbook was not done after {limit_s} s: {run.reason()}")
    if outcome.rc is None:  # no exit status: it did not end by itself
        msg = f"ansible-playbook was killed: {run.reason()}; run the same command again"
        raise ConvergeError(msg)
    if outcome.status != "successful":
        raise ConvergeError(f"ansible-playbook {outcome.status} ({outcome.rc}): {run.reason()}")
    return ConvergeResult(
        hosts=run.recap.hosts,
        changed_tasks=run.recap.changed_tasks,
        duration_s=round(time.monotonic() - began, 3),
    )


class _Run:
    """Sorts ansible-runner's events into progress, recap and log."""

    def __init__(self, on_event: OnEvent) -> None:
        self.recap = Recap()
        self._on_event = on_event
        self._lines: deque[str] = deque(maxlen=50)
        self._last: TaskEvent | None = None

    def handle(self, event: Mapping[str, Any]) -> bool:
        """Take one event; False keeps ansible-runner from storing a copy of it."""
        for line in str(event.get("stdout") or "").splitlines():
            if line.strip():
                logger.debug("ansible: %s", line)
                self._lines.append(line.strip())
        if event.get("event") == "playbook_on_stats":
            self.recap.add_stats(event["event_data"])
        elif (task := read_event(event)) is not None:
            self._last = task
            self.recap.add(task)
            self._on_event(task)
        return False

    def reason(self) -> str:
        """Return why a run ended without a failed task: Ansible's error, or where it was."""
        for line in self._lines:
            if line.startswith(_ERROR_MARKS):
                return line.partition(" ")[2]
        if self._last is not None:
            return f"stopped at {self._last.label}"
        return self._lines[-1] if self._lines else "no output"


def _environment(
    project: Project, environment: str, folder: Path, temporary: Path
) -> dict[str, str]:
    """Return variables that make the run use this installation's Ansible and content."""
    programs = Path(sys.executable).parent
    return {
        "ANSIBLE_CONFIG": str(content_root() / "ansible.cfg"),
        # ansible-runner turns the check of host keys off unless told otherwise.
        "ANSIBLE_HOST_KEY_CHECKING": "True",
        # Where the next run removes what a killed one left.
        "ANSIBLE_LOCAL_TEMP": str(folder / "tmp"),
        "ANSIBLE_NOCOLOR": "True",
        "TMPDIR": str(temporary),
        **strategy_variables(),
        "PATH": os.pathsep.join((str(programs), os.environ.get("PATH", os.defpath))),
        PROJECT_VARIABLE: str(project.root),
        "WARMFLEET_ENVIRONMENT": environment,
    }


def _write_inventory(folder: Path, inventory: dict[str, Any]) -> Path:
    """Write the composed inventory and the file by which the warmfleet plugin finds it."""
    composed = folder / "inventory.json"
    composed.write_text(json.dumps(inventory, indent=1), encoding="utf-8")
    source = folder / "inventory.warmfleet.yml"
    content = {"plugin": "warmfleet", "composed": str(composed)}
    source.write_text(json.dumps(content), encoding="utf-8")
    return source


def _forget_environment(status: Mapping[str, Any], runner_config: Any) -> None:
    """Remove the file into which ansible-runner writes all environment variables of the caller."""
    if status["status"] == "running":
        Path(runner_config.artifact_dir, "command").unlink(missing_ok=True)


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Turn Ctrl-C into a flag: Ansible has a terminal of its own and would run on without us."""
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return
    before = signal.signal(signal.SIGINT, lambda *_: interrupted.set())
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)
