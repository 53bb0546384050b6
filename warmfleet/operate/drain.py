"""Take a host out of all balancing while it stays warm, and give it back."""

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel, ConfigDict

from warmfleet.deploy.progress import Reporter, Stage
from warmfleet.errors import OperationError
from warmfleet.operate.floor import check_floor
from warmfleet.operate.gateways import Gateways
from warmfleet.operate.lock import note_of_now, operators_lock
from warmfleet.operate.target import Target
from warmfleet.telemetry.balancing import BalancedReplica

__all__ = ["DrainResult", "drain", "give_back", "left_drained", "take_out", "undrain"]

_LOOKS = 10
"""Probe intervals in which a gateway must have followed its file; it looks twice in each."""


class DrainResult(BaseModel):
    """What `warmfleet drain --json` and `undrain --json` print."""

    model_config = ConfigDict(frozen=True)

    environment: str
    host: str
    drained: bool
    changed: bool
    """False when it was so already."""
    by: str | None = None
    since: str | None = None
    """Who drained it, and when (UTC)."""
    serving: bool
    """Whether it gets new requests now."""
    unserved_models: list[str] = []
    """Models that no replica serves now."""


def drain(target: Target, reporter: Reporter) -> DrainResult:
    """Send the host no new request, and wait until it has ended those it had.

    Raises:
        OperationRefusedError: the floor would be crossed, or another operator is at work.
        OperationError: requests are still under way after the longest time that one may take.
        HostUnreachableError: a gateway does not answer.
    """
    target.must_be_replica("drain")
    with (
        reporter.stage("drain") as stage,
        Gateways.open(target) as gateways,
        operators_lock(gateways, f"drain {target.host.name}"),
    ):
        result = take_out(gateways, stage)
        if left := _in_flight(gateways.of_host()):
            msg = (
                f"{_count(left)} still under way at {target.host.name} after "
                f"{target.plan.timeouts.drain_s:.0f} s; it is drained and gets no new ones; "
                f"needed: none; see: warmfleet logs {target.environment} {target.host.name}"
            )
            raise OperationError(msg)
        return result


def undrain(target: Target, reporter: Reporter) -> DrainResult:
    """Let the host have requests again, from the moment it is ready.

    Raises:
        OperationRefusedError: another operator is at work.
        OperationError: a gateway does not follow.
        HostUnreachableError: a gateway does not answer.
    """
    target.must_be_replica("undrain")
    with (
        reporter.stage("undrain"),
        Gateways.open(target) as gateways,
        operators_lock(gateways, f"undrain {target.host.name}"),
    ):
        return give_back(gateways)


def take_out(gateways: Gateways, stage: Stage) -> DrainResult:
    """Drain under a lock that is held; requests that outlast the time limit are left to run.

    Raises:
        OperationRefusedError: the floor would be crossed; nothing was changed.
        OperationError: a gateway does not follow.
    """
    target, name = gateways.target, gateways.target.host.name
    hosts, agreed = gateways.drained()
    changed = name not in hosts
    unserved: list[str] = []
    if changed:
        unserved = check_floor(gateways)
        hosts = {**hosts, name: note_of_now()}
    if changed or not agreed:
        gateways.take_out(hosts)
    _await(gateways, drained=True)
    if unserved:
        stage.update(
            f"no replica serves {', '.join(unserved)} now: requests wait "
            f"{target.plan.timeouts.queue_s:.0f} s at the gateway, then they fail"
        )
    shown = -1

    def show(replicas: list[BalancedReplica]) -> None:
        nonlocal shown
        if (left := _in_flight(replicas)) != shown:
            shown = left
            stage.update(f"{name} gets no new requests; {_count(left)} under way")

    gateways.wait(
        lambda replicas: _in_flight(replicas) == 0,
        limit_s=target.plan.timeouts.drain_s,
        on_look=show,
    )
    note = hosts[name] if isinstance(hosts[name], dict) else {}
    return DrainResult(
        environment=target.environment,
        host=name,
        drained=True,
        changed=changed,
        by=note.get("by"),
        since=note.get("since"),
        serving=False,
        unserved_models=unserved,
    )


def give_back(gateways: Gateways) -> DrainResult:
    """Undrain under a lock that is held."""
    target, name = gateways.target, gateways.target.host.name
    hosts, _ = gateways.drained()
    changed = name in hosts
    if changed:
        gateways.take_out({other: note for other, note in hosts.items() if other != name})
    _await(gateways, drained=False)
    replicas = gateways.of_host()
    return DrainResult(
        environment=target.environment,
        host=name,
        drained=False,
        changed=changed,
        serving=bool(replicas) and all(replica.serves for replica in replicas),
    )


@contextmanager
def left_drained(target: Target, reporter: Reporter) -> Iterator[None]:
    """Say, when the block does not come to its end, that the host it worked on is drained."""
    try:
        yield
    except BaseException:
        environment, name = target.environment, target.host.name
        line = f"{name} stays drained; when it is well: warmfleet undrain {environment} {name}"
        reporter.console.print(line, highlight=False, soft_wrap=True)
        raise


def _await(gateways: Gateways, *, drained: bool) -> None:
    target = gateways.target
    limit_s = _LOOKS * target.plan.timeouts.probe_interval_s
    if gateways.wait(
        lambda replicas: all(one.drained is drained for one in replicas), limit_s=limit_s
    ):
        return
    names = ", ".join(host.name for host in target.gateways)
    msg = (
        f"gateway {names} has not followed its list of drained hosts for {limit_s:.0f} s; needed: "
        f"nginx that reads it; see: warmfleet logs {target.environment} {target.gateways[0].name}"
    )
    raise OperationError(msg)


def _in_flight(replicas: list[BalancedReplica]) -> int:
    return sum(replica.in_flight for replica in replicas)


def _count(requests: int) -> str:
    return f"{requests} request{'' if requests == 1 else 's'}"
