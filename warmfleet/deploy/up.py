"""From a lock file to a warm endpoint that has just answered."""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from warmfleet.converge.weights import ensure_weights
from warmfleet.converge.wheelhouse import ensure_wheelhouse
from warmfleet.deploy.first_request import FirstRequest, measure_first_requests
from warmfleet.deploy.hosts import converge_hosts
from warmfleet.deploy.probe import Endpoint
from warmfleet.deploy.progress import Reporter
from warmfleet.deploy.status import FleetStatus, status_of
from warmfleet.errors import EndpointError
from warmfleet.plan.lock import check_lock
from warmfleet.plan.models import FleetPlan
from warmfleet.project import Project
from warmfleet.provider.image import ensure_image
from warmfleet.stack.credentials import Credentials
from warmfleet.stack.workspace import Workspace

__all__ = ["UpResult", "up"]

_logger = logging.getLogger(__name__)
_QUESTION = "In one sentence: why should a server be warm before it takes traffic?"
_ANSWER_TOKENS = 48


class UpResult(BaseModel):
    """What `warmfleet up --json` prints."""

    model_config = ConfigDict(frozen=True)

    status: FleetStatus
    resources: dict[str, int]
    tasks: dict[str, int]
    changed_tasks: list[str]
    first_requests: list[FirstRequest]
    first_request_goal: float
    question: str
    answer: str
    answer_ttft_s: float
    answer_total_s: float
    stages: dict[str, float]
    log_file: Path


def up(project: Project, environment: str, reporter: Reporter, log_file: Path) -> UpResult:
    """Bring an environment to what its lock says; running it again changes nothing.

    Every part is safe to run again after it was interrupted: what is already right is left alone.

    Raises:
        WarmfleetError: one line; the stage that failed is in the log.
    """
    plan = check_lock(project, environment)
    credentials = Credentials.ensure_for(project, plan)
    _gather(project, plan, reporter)
    began = datetime.now(UTC)
    with reporter.stage("stack") as stage:
        stack = Workspace(project, environment).up(stage.update)
    tasks = converge_hosts(project, environment, reporter)
    with reporter.stage("replicas") as stage:
        status = status_of(plan, stack.fleet, credentials)
        stage.update(", ".join(f"{r.host} {r.state}" for r in status.replicas))
    if not status.ready:
        states = ", ".join(f"{r.host} is {r.state}" for r in status.replicas)
        msg = f"not every replica is ready: {states}; see `warmfleet status {environment}`"
        raise EndpointError(msg)
    with reporter.stage("answer") as stage:
        endpoint = Endpoint(
            stack.fleet.endpoint,
            credentials.ca_file,
            credentials.api_key_file,
            read_timeout_s=plan.timeouts.client_s,
        )
        model = plan.models[0].name
        first = measure_first_requests(
            endpoint,
            model,
            sum(not replica.drained for replica in status.replicas),
            lambda answer: stage.update(f"{answer.replica} answered in {answer.total_s:.2f} s"),
        )
        answer = endpoint.chat(model, _QUESTION, _ANSWER_TOKENS)
    return UpResult(
        status=status,
        resources=stack.changes,
        tasks={"ok": tasks.ok, "changed": tasks.changed},
        changed_tasks=tasks.changed_tasks,
        first_requests=[r for r in first if _started_since(status, r.replica, began)],
        first_request_goal=plan.slo.first_request_ratio,
        question=_QUESTION,
        answer=answer.text,
        answer_ttft_s=answer.ttft_s,
        answer_total_s=answer.total_s,
        stages={time.name: time.seconds for time in reporter.times},
        log_file=log_file,
    )


def _gather(project: Project, plan: FleetPlan, reporter: Reporter) -> None:
    """Make what hosts are built from, side by side; each part returns at once when it is there."""

    def weights(show: Callable[[str], None]) -> None:
        for model in plan.models:
            ensure_weights(project, model, show)

    parts: dict[str, Callable[[Callable[[str], None]], object]] = {
        "image": ensure_image,
        "wheelhouse": lambda show: ensure_wheelhouse(project, show),
        "weights": weights,
    }
    with ThreadPoolExecutor(len(parts)) as pool:
        jobs = [pool.submit(_staged, reporter, name, work) for name, work in parts.items()]
        for job in jobs:
            job.result()


def _staged(reporter: Reporter, name: str, work: Callable[[Callable[[str], None]], object]) -> None:
    with reporter.stage(name) as stage:
        work(stage.update)


def _started_since(status: FleetStatus, replica: str, began: datetime) -> bool:
    """Only a replica that this run started can have had its first request in this run."""
    return any(
        r.host == replica and r.coldstart is not None and r.coldstart.started_at >= began
        for r in status.replicas
    )
