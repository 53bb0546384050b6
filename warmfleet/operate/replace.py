"""Destroy a host and make it anew, with the floor kept and its drain kept or ended."""

from dataclasses import replace as with_changes
from typing import Any

from pydantic import BaseModel, ConfigDict

from warmfleet.deploy.hosts import converge_hosts
from warmfleet.deploy.progress import Reporter, Stage
from warmfleet.errors import HostUnreachableError, OperationError
from warmfleet.operate.drain import left_drained, take_out
from warmfleet.operate.gateways import Gateways
from warmfleet.operate.lock import operators_lock
from warmfleet.operate.proof import ProofAnswer, await_ready, prove_answer, serve_again
from warmfleet.operate.target import Target
from warmfleet.plan.lock import check_lock
from warmfleet.provider.image import ensure_image
from warmfleet.stack.workspace import Workspace

__all__ = ["ReplaceResult", "replace", "warning_of"]


class ReplaceResult(BaseModel):
    """What `warmfleet replace --json` prints."""

    model_config = ConfigDict(frozen=True)

    environment: str
    host: str
    resources: dict[str, int]
    tasks: dict[str, int]
    drained: bool
    """True when it was drained before, and so still is."""
    answer: ProofAnswer | None
    """None when it is drained."""


def warning_of(target: Target) -> str:
    """Return what whoever confirms should know."""
    name = target.host.name
    if not target.is_gateway:
        return f"{name} is destroyed with all it holds and made anew; it serves nothing meanwhile"
    if len(target.gateways) == 1:
        return f"{name} is the only gateway: the endpoint is down until it is made anew"
    return f"{name} is destroyed and made anew; clients that use it must use another one meanwhile"


def replace(target: Target, reporter: Reporter) -> ReplaceResult:
    """Drain the host, replace it in the stack, converge it alone, and let it serve again.

    Raises:
        OperationRefusedError: the floor would be crossed, or another operator is at work.
        PlanStaleError: the lock is not what the spec gives.
        StackError, ConvergeError: it could not be made; run it again, the host stays drained.
        EndpointError: it does not answer requests afterwards.
    """
    check_lock(target.project, target.environment)
    work = _replace_gateway if target.is_gateway else _replace_replica
    return work(target, reporter)


def _replace_replica(target: Target, reporter: Reporter) -> ReplaceResult:
    name = target.host.name
    with Gateways.open(target) as gateways, operators_lock(gateways, f"replace {name}"):
        with reporter.stage("drain") as stage:
            was_drained = not take_out(gateways, stage).changed
        with left_drained(target, reporter):
            fresh, resources, tasks = _make_anew(target, reporter, {})
            await_ready(gateways)
        answer = None if was_drained else serve_again(gateways, fresh, reporter)
    return _result(target, resources, tasks, answer, drained=was_drained)


def _replace_gateway(target: Target, reporter: Reporter) -> ReplaceResult:
    with reporter.stage("gateway") as stage:
        drained = _drained_at(target, stage)
    fresh, resources, tasks = _make_anew(target, reporter, drained)
    with reporter.stage("answer") as stage:
        answer = prove_answer(fresh, stage)
    return _result(target, resources, tasks, answer, drained=False)


def _drained_at(target: Target, stage: Stage) -> dict[str, Any]:
    """Return the hosts that are taken out; none when the gateway cannot say any more."""
    doing = f"replace {target.host.name}"
    try:
        with Gateways.open(target) as gateways, operators_lock(gateways, doing):
            hosts, _ = gateways.drained()
            return hosts
    except (HostUnreachableError, OperationError) as error:
        stage.update(f"{error}; it is replaced all the same, and hosts that were drained serve")
        return {}


def _make_anew(
    target: Target, reporter: Reporter, drained: dict[str, Any]
) -> tuple[Target, dict[str, int], dict[str, int]]:
    with reporter.stage("stack") as stage:
        ensure_image(stage.update)
        workspace = Workspace(target.project, target.environment)
        stack = workspace.replace(target.host.name, stage.update)
    fresh = with_changes(
        target,
        fleet=stack.fleet,
        host=next(host for host in stack.fleet.hosts if host.name == target.host.name),
    )
    if drained:
        # Before its proxy starts: it must not send a first request to a host that was taken out.
        with Gateways.open(fresh) as gateways:
            gateways.take_out(drained)
    tasks = converge_hosts(target.project, target.environment, reporter, limit=target.host.name)
    return fresh, stack.changes, {"ok": tasks.ok, "changed": tasks.changed}


def _result(
    target: Target,
    resources: dict[str, int],
    tasks: dict[str, int],
    answer: ProofAnswer | None,
    *,
    drained: bool,
) -> ReplaceResult:
    return ReplaceResult(
        environment=target.environment,
        host=target.host.name,
        resources=resources,
        tasks=tasks,
        drained=drained,
        answer=answer,
    )
