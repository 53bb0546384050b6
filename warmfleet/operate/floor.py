"""The floor: how many ready replicas of each model an operation must leave."""

from warmfleet.errors import OperationRefusedError
from warmfleet.operate.gateways import Gateways
from warmfleet.operate.target import Target
from warmfleet.telemetry.balancing import BalancedReplica

__all__ = ["check_floor"]


def check_floor(gateways: Gateways) -> list[str]:
    """Return the models that nobody serves once the target is out (a floor of 0 lets it go).

    A replica that gets no traffic anyway takes nothing away.

    Raises:
        OperationRefusedError: fewer than the floor would be left, at any gateway.
    """
    target = gateways.target
    floor = target.plan.updates.floor
    bare: set[str] = set()
    for _, replicas in gateways.balancing():
        serving = [replica for replica in replicas if replica.serves]
        for model in sorted({one.model for one in serving if one.name == target.host.name}):
            left = [
                one.name for one in serving if one.model == model and one.name != target.host.name
            ]
            if len(left) < floor:
                raise OperationRefusedError(_refusal(target, model, replicas, left, floor))
            if not left:
                bare.add(model)
    return sorted(bare)


def _refusal(
    target: Target, model: str, replicas: list[BalancedReplica], left: list[str], floor: int
) -> str:
    environment, name = target.environment, target.host.name
    ready = "1 ready replica" if len(left) == 1 else f"{len(left) or 'no'} ready replicas"
    waiting = [one.name for one in replicas if one.model == model and one.ready and one.drained]
    next_step = (
        f"undrain {environment} {waiting[0]}"
        if waiting
        else f"status {environment} shows why others are not ready"
    )
    return (
        f"{ready} of {model} would serve without {name}{': ' if left else ''}{', '.join(left)}; "
        f"needed: {floor} (updates.floor in the spec); do first: warmfleet {next_step}"
    )
