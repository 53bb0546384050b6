"""What a run of the playbook reports, as types; the only reader of ansible-runner's events."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Any

__all__ = ["TaskEvent", "TaskStatus", "read_event", "read_message"]

_LONGEST_MESSAGE = 600
_HIDDEN = "output hidden (no_log)"


class TaskStatus(StrEnum):
    """How a task stands on a host."""

    STARTED = "started"
    RETRYING = "retrying"
    OK = "ok"
    CHANGED = "changed"
    SKIPPED = "skipped"
    FAILED = "failed"
    IGNORED = "ignored"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True)
class TaskEvent:
    """One step of one host; ``duration_s`` is 0 until the task has ended there."""

    host: str
    role: str
    task: str
    status: TaskStatus
    duration_s: float = 0.0
    message: str = ""

    @property
    def label(self) -> str:
        """Host, role and task as one name."""
        return ": ".join(part for part in (self.host, self.role, self.task) if part)

    def __str__(self) -> str:
        """Return the line that progress shows."""
        if self.status is TaskStatus.STARTED:
            return self.label
        took = f" in {self.duration_s:.1f} s" if self.duration_s >= 0.1 else ""
        why = f" ({self.message})" if self.message else ""
        return f"{self.label}: {self.status}{took}{why}"


_STATUS = {
    "runner_on_start": TaskStatus.STARTED,
    "runner_retry": TaskStatus.RETRYING,
    "runner_on_ok": TaskStatus.OK,
    "runner_on_skipped": TaskStatus.SKIPPED,
    "runner_on_failed": TaskStatus.FAILED,
    "runner_on_async_failed": TaskStatus.FAILED,
    "runner_on_unreachable": TaskStatus.UNREACHABLE,
}
_CRASHED = ("Module result deserialization failed", "MODULE FAILURE")
_FULL = re.compile(r"\[Errno 28\] No space left on device(?P<paths>: b?'[^']*'( -> b?'[^']*')?)?")
_PATH = re.compile(r"b?'(/[^']*)'")
# What Mitogen says when it looks for the stream to a host that has just gone.
_NO_STREAM = "'NoneType' object has no attribute 'protocol'"
_CONNECTION_BROKE = "the connection to the host broke in the middle of a task"


def read_event(event: Mapping[str, Any]) -> TaskEvent | None:
    """Return what an event of ansible-runner says of a task on a host, None for other events."""
    status = _STATUS.get(event.get("event", ""))
    if status is None:
        return None
    data = event.get("event_data") or {}
    result = data.get("res") or {}
    message = ""
    if status is TaskStatus.OK and result.get("changed"):
        status = TaskStatus.CHANGED
    elif status is TaskStatus.FAILED:
        status = TaskStatus.IGNORED if data.get("ignore_errors") else TaskStatus.FAILED
        message = read_message(result)
    elif status is TaskStatus.UNREACHABLE:
        message = read_message(result)
    elif status is TaskStatus.RETRYING:
        message = f"try {result.get('attempts', '?')} of {result.get('retries', '?')}"
    return TaskEvent(
        host=str(data.get("host", "")),
        role=str(data.get("role") or ""),
        task=str(data.get("task") or ""),
        status=status,
        duration_s=float(data.get("duration") or 0.0),
        message=message,
    )


def read_message(result: Mapping[str, Any]) -> str:
    """Return the one line of a failed result that tells a person the most."""
    if "censored" in result or result.get("_ansible_no_log"):
        return _HIDDEN
    failed = [item for item in result.get("results") or () if _has_failed(item)]
    if failed:
        more = f" (and {len(failed) - 1} more items)" if len(failed) > 1 else ""
        label = failed[0].get("_ansible_item_label", failed[0].get("item", ""))
        named = f"item {_one_line(str(label))[:80]}: " if label else ""
        return named + read_message(failed[0]) + more
    text = _one_line(_text(result.get("msg")))
    # A command's own words come before the bare fact that it failed.
    if "rc" in result and (not text or text.startswith("non-zero return code")):
        said = _first_line(result.get("stderr")) or _last_line(result.get("stdout"))
        text = f"exit status {result['rc']}: {said or 'no output'}"
    if text.startswith(_CRASHED):
        text = _died_of(result.get("module_stderr")) or "the module ended without a result"
    if not text:
        text = _last_line(result.get("exception")) or _died_of(result.get("module_stderr"))
    text = _told_of_disk(_without_insides(text)) or "no message"
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}..."


def _died_of(printed: object) -> str:
    """Return what a module that crashed died of: of a chain of causes, the first."""
    _, traced, rest = _text(printed).partition("Traceback (most recent call last):\n")
    causes = (line for line in rest.splitlines() if not line.startswith(" "))
    return _one_line(next(causes, "")) if traced else _last_line(printed)


def _told_of_disk(text: str) -> str:
    """Say what to do when a disk is full, in place of what module met it."""
    full = _FULL.search(text)
    if full is None:
        return text
    paths = _PATH.findall(full["paths"] or "")
    place = f"of {PurePosixPath(paths[-1]).parent}" if paths else "that it writes to"
    return f"no space is left on the disk {place}; make room there and run it again"


def _without_insides(text: str) -> str:
    """Cut off the traceback that Mitogen puts behind its errors."""
    said, found, inside = text.partition(' File "')
    if not found or "/mitogen/" not in inside:
        return text
    return _CONNECTION_BROKE if _NO_STREAM in said else said


def _has_failed(item: object) -> bool:
    return isinstance(item, Mapping) and bool(item.get("failed") or item.get("unreachable"))


def _text(value: object) -> str:
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return "" if value is None else str(value)


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def _first_line(text: object) -> str:
    lines = [line for line in _text(text).splitlines() if line.strip()]
    return _one_line(lines[0]) if lines else ""


def _last_line(text: object) -> str:
    lines = [line for line in _text(text).splitlines() if line.strip()]
    return _one_line(lines[-1]) if lines else ""
