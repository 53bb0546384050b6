"""Restart the services of a host without a request noticing."""

from pydantic import BaseModel, ConfigDict

from warmfleet.deploy.progress import Reporter
from warmfleet.errors import NameUnknownError
from warmfleet.operate.drain import left_drained, take_out
from warmfleet.operate.gateways import Gateways
from warmfleet.operate.lock import operators_lock
from warmfleet.operate.proof import ProofAnswer, await_ready, serve_again
from warmfleet.operate.service import restart_service
from warmfleet.operate.target import Target
from warmfleet.telemetry.tunnel import Tunnel

__all__ = ["RestartResult", "restart"]


class RestartResult(BaseModel):
    """What `warmfleet restart --json` prints."""

    model_config = ConfigDict(frozen=True)

    environment: str
    host: str
    warm_after_s: dict[str, float]
    """Seconds from the restart to warm, by model."""
    drained: bool
    """True when it was drained before, and so still is."""
    answer: ProofAnswer | None
    """None when it is drained."""


def restart(target: Target, model: str | None, reporter: Reporter) -> RestartResult:
    """Drain the host, restart its services (or that of one model), and let it serve again.

    Raises:
        OperationRefusedError: the floor would be crossed, or another operator is at work.
        OperationError: a service did not get warm; the host stays drained.
        HostUnreachableError: the host or a gateway does not answer.
        EndpointError: the host does not answer requests afterwards.
    """
    target.must_be_replica("restart")
    models = _chosen(target, model)
    name = target.host.name
    with (
        Gateways.open(target) as gateways,
        Tunnel.open(target.host, target.credentials) as tunnel,
        operators_lock(gateways, f"restart {name}"),
    ):
        with reporter.stage("drain") as stage:
            was_drained = not take_out(gateways, stage).changed
        warm: dict[str, float] = {}
        with left_drained(target, reporter), reporter.stage("restart") as stage:
            for one in models:
                warm[one] = round(restart_service(target, tunnel, one, stage), 3)
                stage.update(f"{one} is warm after {warm[one]:.1f} s")
            await_ready(gateways)
        answer = None if was_drained else serve_again(gateways, target, reporter)
    return RestartResult(
        environment=target.environment,
        host=name,
        warm_after_s=warm,
        drained=was_drained,
        answer=answer,
    )


def _chosen(target: Target, model: str | None) -> list[str]:
    names = [one.name for one in target.plan.models]
    if model is None:
        return names
    if model not in names:
        msg = f"{target.host.name} serves no model {model!r}; it serves {', '.join(names)}"
        raise NameUnknownError(msg)
    return [model]
