"""What a run came to: counts a host, tasks that changed something, and failures as one line."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from warmfleet.converge.events import TaskEvent, TaskStatus
from warmfleet.errors import ConvergeError, HostUnreachableError, WarmfleetError
from warmfleet.stack.outputs import FleetOutput

__all__ = ["ConvergeResult", "HostRecap", "Recap"]

_OTHER_KEY = (
    "REMOTE HOST IDENTIFICATION HAS CHANGED",
    "Host key verification failed",
    "SSH reported an unrecognized or mismatching host key",  # in Mitogen's words
)
_BROKEN = "Mitogen was disconnected from the remote environment"
_PREFIXES = ("Task failed: ", "EOF on stream; last 100 lines received: ", "ssh: ")
_SSH_PREFIXES = ("Failed to connect to the host via ssh:", "host can be reached over ssh:")


@dataclass(frozen=True)
class HostRecap:
    """Tasks of one host by outcome; ``ok`` includes those that changed something."""

    ok: int
    changed: int
    failed: int
    skipped: int


@dataclass(frozen=True)
class ConvergeResult:
    """A run that ended well."""

    hosts: dict[str, HostRecap]
    changed_tasks: list[str]
    duration_s: float

    @property
    def ok(self) -> int:
        """Tasks of all hosts that ended well."""
        return sum(host.ok for host in self.hosts.values())

    @property
    def changed(self) -> int:
        """Tasks of all hosts that changed something (with check: would have)."""
        return sum(host.changed for host in self.hosts.values())


@dataclass
class Recap:
    """Collects while the playbook runs."""

    changed_tasks: list[str] = field(default_factory=list)
    hosts: dict[str, HostRecap] = field(default_factory=dict)
    _failed: dict[str, TaskEvent] = field(default_factory=dict)
    _unreachable: dict[str, TaskEvent] = field(default_factory=dict)
    _rescued: set[str] = field(default_factory=set)

    def add(self, event: TaskEvent) -> None:
        """Remember what a task came to."""
        if event.status is TaskStatus.CHANGED:
            self.changed_tasks.append(event.label)
        elif event.status is TaskStatus.FAILED:
            # The last one counts: those before it were rescued, or the host would have stopped.
            self._failed[event.host] = event
        elif event.status is TaskStatus.UNREACHABLE:
            self._unreachable[event.host] = event

    def add_stats(self, stats: Mapping[str, Mapping[str, int]]) -> None:
        """Take Ansible's own counts at the end of the run."""
        names = {
            host for counts in stats.values() if isinstance(counts, Mapping) for host in counts
        }
        for host in sorted(names):
            counted = {kind: int((stats.get(kind) or {}).get(host, 0)) for kind in _KINDS}
            self.hosts[host] = HostRecap(
                ok=counted["ok"],
                changed=counted["changed"],
                failed=counted["failures"],
                skipped=counted["skipped"],
            )
            if not counted["failures"]:
                self._rescued.add(host)

    def error(self, fleet: FleetOutput, environment: str) -> WarmfleetError | None:
        """Return the error that says what went wrong on which hosts, None when nothing did."""
        failures = {
            host: f"host {host}: {_task(event)}: {event.message}"
            for host, event in self._failed.items()
            if host not in self._rescued
        }
        if self._unreachable:
            causes = [_unreachable(event, fleet) for event in self._unreachable.values()]
            lines = [*causes, *failures.values()]
            return HostUnreachableError(f"{'; '.join(lines)}; {_next_step(environment)}")
        return ConvergeError("; ".join(failures.values())) if failures else None


_KINDS = ("ok", "changed", "failures", "skipped")


def _task(event: TaskEvent) -> str:
    return ": ".join(part for part in (event.role, event.task) if part)


def _unreachable(event: TaskEvent, fleet: FleetOutput) -> str:
    known = {host.name: host.ssh for host in fleet.hosts}
    ssh = known.get(event.host)
    address = f" ({ssh.user}@{ssh.address}:{ssh.port})" if ssh else ""
    causes = [event.message.partition(prefix)[2].strip() for prefix in _SSH_PREFIXES]
    cause = next(filter(None, causes), event.message)
    if any(words in cause for words in _OTHER_KEY):
        cause = "it shows another host key than the one that is pinned in the stack"
    if _BROKEN in cause:
        cause = "the connection broke, or the host fell silent, in the middle of a task"
    for prefix in _PREFIXES:
        cause = cause.removeprefix(prefix)
    return f"host {event.host}{address} is not reachable: {cause}"


def _next_step(environment: str) -> str:
    return f"check the host, then run warmfleet up {environment}, which refreshes the stack"
