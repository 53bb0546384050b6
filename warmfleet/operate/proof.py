"""A host serves again: the gateway sends it requests, and it answers one."""

from pydantic import BaseModel, ConfigDict

from warmfleet.deploy.probe import Answer, Endpoint
from warmfleet.deploy.progress import Reporter, Stage
from warmfleet.errors import EndpointError, OperationError
from warmfleet.operate.drain import give_back
from warmfleet.operate.gateways import Gateways
from warmfleet.operate.target import Target

__all__ = ["ProofAnswer", "await_ready", "prove_answer", "serve_again"]

_QUESTION = "In one sentence: is anybody there?"
_TOKENS = 16
_LOOKS = 20
_TURNS = 3


class ProofAnswer(BaseModel):
    """The answer that showed it; seconds as a client sees them."""

    model_config = ConfigDict(frozen=True)

    replica: str
    ttft_s: float
    total_s: float


def await_ready(gateways: Gateways) -> None:
    """Wait until every gateway has seen the target's replicas warm.

    Raises:
        OperationError: one has not.
    """
    target = gateways.target
    limit_s = _LOOKS * target.plan.timeouts.probe_interval_s
    if gateways.wait(
        lambda replicas: bool(replicas) and all(one.ready for one in replicas), limit_s=limit_s
    ):
        return
    msg = (
        f"no gateway found {target.host.name} ready within {limit_s:.0f} s although it started; "
        f"see: warmfleet status {target.environment}"
    )
    raise OperationError(msg)


def serve_again(gateways: Gateways, target: Target, reporter: Reporter) -> ProofAnswer:
    """Undrain a host that is ready, under a lock that is held, and see it answer.

    ``target`` is the host as it is now: one that was made anew has another key.

    Raises:
        OperationError: a gateway does not follow.
        EndpointError: it does not answer requests.
    """
    with reporter.stage("undrain"):
        give_back(gateways)
    with reporter.stage("answer") as stage:
        return prove_answer(target, stage)


def prove_answer(target: Target, stage: Stage) -> ProofAnswer:
    """Ask through the public endpoint until the target's host answers.

    Idle replicas take turns and busy ones get less, so a few requests reach it.

    Raises:
        EndpointError: a request failed, or others answered them all.
    """
    endpoint = Endpoint(
        target.fleet.endpoint,
        target.credentials.ca_file,
        target.credentials.api_key_file,
        read_timeout_s=target.plan.timeouts.client_s,
    )
    model = target.plan.models[0].name
    tries = _TURNS * max(2, len(target.fleet.hosts))
    for _ in range(tries):
        answer: Answer = endpoint.chat(model, _QUESTION, _TOKENS)
        stage.update(f"{answer.replica} answered in {answer.total_s:.2f} s")
        if answer.replica in ("", target.host.name) or target.is_gateway:
            return ProofAnswer(replica=answer.replica, ttft_s=answer.ttft_s, total_s=answer.total_s)
    msg = (
        f"{target.host.name} answered none of {tries} requests, other replicas did; see: "
        f"warmfleet status {target.environment}"
    )
    raise EndpointError(msg)
