"""Runs the ``pulumi`` program for a project, with its errors turned into one line."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from warmfleet.content import in_checkout
from warmfleet.errors import StackError, ToolMissingError
from warmfleet.project import Project
from warmfleet.provider.process import Finished, last_line, run_program
from warmfleet.stack.events import EventLog
from warmfleet.stack.stale_locks import Holder, clear_stale_locks

__all__ = ["Engine"]

_UPDATE_LIMIT_S = 1800
_COMMAND_LIMIT_S = 60
_GRACE_S = 60
# Without us, nobody would hear it or end it: the next run could only wait for its lock.
_TIED = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
_LOCK = re.compile(r"created by (?P<user>\S+)@(?P<host>\S+) \(pid (?P<pid>\d+)\) at (?P<time>\S+)")
# Pulumi's words, and gRPC's, for what a person can do something about.
_PLAIN = (
    (
        re.compile(
            r"(connection error: desc = \")?"
            r"(transport: Error while dialing|error reading from server: EOF).*"
        ),
        "its provider or its program was ended in the middle; run it again",
    ),
    (
        re.compile(r".*write (?P<folder>/\S+)/[^/]+: no space left on device.*"),
        r"no space is left on the disk of \g<folder>; make room there and run it again",
    ),
)


class Engine:
    """The Pulumi engine with the state and passphrase of one project."""

    def __init__(self, project: Project) -> None:
        self._project = project

    def update(self, *arguments: str, stack: str, on_event: Callable[[str], None]) -> EventLog:
        """Run an operation to its end and report its steps meanwhile.

        Ctrl-C, and the time limit of 30 minutes, ask the engine to stop and wait until it has
        written its state down. A lock that a killed run of this machine left is cleared before.

        Raises:
            StackError: it failed, or somebody else is at it; names the resource and the cause.
            ToolMissingError: ``pulumi`` is not installed.
        """
        variables = self._variables()
        for holder in clear_stale_locks(variables["PULUMI_BACKEND_URL"], stack):
            on_event(f"unlocked stack {stack}: it was locked by {holder}, a process that is gone")
        log = EventLog(on_event)
        command = [*_TIED, self._program(), *arguments, "--stack", stack]
        command += ["--json", "--non-interactive"]
        with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
            process = subprocess.Popen(
                command,
                cwd=self._project.root,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                errors="replace",
                # Not in the terminal's group: a Ctrl-C arrives here, and goes on exactly once. A
                # second one would make the engine drop its state and keep its lock.
                process_group=0,
            )
            with process:
                status = _follow(process, log)
            errors.seek(0)
            printed = errors.read()
        if status < 0:
            name = signal.Signals(-status).name
            msg = f"pulumi {arguments[0]} of {stack} was ended by {name}; run it again"
            raise StackError(msg)
        if status:
            raise StackError(_explained(arguments[0], stack, self._project, printed, log))
        return log

    def ask(self, *arguments: str) -> Finished:
        """Run a short command, whatever its exit status."""
        return run_program(
            [self._program(), *arguments, "--non-interactive"],
            timeout_s=_COMMAND_LIMIT_S,
            variables=self._variables(),
            folder=self._project.root,
        )

    def command(self, *arguments: str) -> str:
        """Run a short command and return its stdout.

        Raises:
            StackError: it failed; names the cause.
        """
        answer = self.ask(*arguments)
        if answer.status:
            msg = f"pulumi {' '.join(arguments[:2])}: {_cause(answer.stderr)}"
            raise StackError(msg)
        return answer.stdout

    def _program(self) -> str:
        found = shutil.which("pulumi", path=self._variables()["PATH"])
        if found is None:
            msg = "pulumi is not on PATH; run `make tools`, or install it from its own site"
            raise ToolMissingError(msg)
        return found

    def _variables(self) -> dict[str, str]:
        # Our console scripts first: the engine looks for language and resource plugins on PATH.
        folders = [Path(sys.prefix) / "bin"]
        if (checkout := in_checkout()) is not None:
            folders.append(checkout / ".tools" / "bin")
        path = os.pathsep.join([*map(str, folders), os.environ.get("PATH", os.defpath)])
        return {
            **os.environ,
            **self._project.pulumi_environment(),
            # Previews then report the same events as updates.
            "PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "true",
            "PATH": path,
        }


def _follow(process: subprocess.Popen[str], log: EventLog) -> int:
    assert process.stdout is not None  # noqa: S101 - for the type checker: stdout=PIPE
    limit = threading.Timer(_UPDATE_LIMIT_S, process.send_signal, (signal.SIGINT,))
    limit.daemon = True
    limit.start()
    try:
        for line in process.stdout:
            log.read(line)
        return process.wait()
    except BaseException:
        process.send_signal(signal.SIGINT)
        try:
            process.communicate(timeout=_GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        raise
    finally:
        limit.cancel()


def _explained(verb: str, stack: str, project: Project, printed: str, log: EventLog) -> str:
    if lock := _LOCK.search(printed):
        return _locked(stack, project, lock)
    problem = log.problem() or _cause(printed)
    for words, plain in _PLAIN:
        problem = words.sub(plain, problem)
    return f"pulumi {verb} of {stack} failed: {problem}"


def _locked(stack: str, project: Project, lock: re.Match[str]) -> str:
    since = datetime.fromisoformat(lock["time"])
    holder = Holder(lock["user"], lock["host"], int(lock["pid"]), since)
    if holder.is_gone():
        return (
            f"stack {stack} is locked by {holder}, a process that is gone; "
            f"unlock it: cd {shlex.quote(str(project.root))} && "
            f'eval "$(warmfleet env)" && pulumi cancel --yes {stack}'
        )
    return (
        f"stack {stack} is locked by {holder}; wait until that has ended, or end it with Ctrl-C "
        "there, and run this again"
    )


def _cause(printed: str) -> str:
    lines = [line for line in printed.splitlines() if line.startswith("error: ")]
    return (lines[0] if lines else last_line(printed)).removeprefix("error: ")
