"""The plan: what is committed as ``plans/ENV.json`` and read by the stack and the inventory.

Units are in the names: ``_s`` seconds, ``_mb`` megabytes of 10^6 bytes, ``_mbps`` 10^6 bit/s.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from warmfleet.plan.start_models import ColdStartPlan
from warmfleet.plan.timeouts import TimeoutChain, conflict
from warmfleet.resolve.probe_facts import ProbeFacts
from warmfleet.resolve.user_facts import CountedUsers
from warmfleet.spec.network import Billing

__all__ = [
    "SCHEMA_VERSION",
    "BandwidthPlan",
    "BillingPlan",
    "CommonPlan",
    "Decision",
    "EndpointPlan",
    "EngineKind",
    "EnginePlan",
    "FileSource",
    "FleetPlan",
    "HostPlan",
    "HostRole",
    "LimitsPlan",
    "LineOption",
    "LinePart",
    "ModelPlan",
    "PackageSource",
    "Plan",
    "PullPlan",
    "Scalar",
    "SitePlan",
    "SloPlan",
    "TimeoutChain",
    "UpdatesPlan",
    "WarmupPlan",
    "WarmupShape",
    "start_outlives_warmup",
]

SCHEMA_VERSION: Literal[1] = 1

Scalar = str | int | float | bool


class Plan(BaseModel):
    """A part of a plan."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class HostRole(StrEnum):
    """What a host does; the plural is its inventory group."""

    GATEWAY = "gateway"
    REPLICA = "replica"


class EngineKind(StrEnum):
    """Engines that the service can start."""

    LLAMACPP = "llamacpp"
    FAKE = "fake"


class EndpointPlan(Plan):
    """Where clients connect."""

    address: str
    port: int = Field(gt=0, le=65535)
    server_names: list[str] = Field(description="names and addresses in the server certificate")


class LinePart(Plan):
    """What is ordered of one line product; several lines have an address each."""

    line: str
    carriers: list[str] = Field(description="that it reaches without another one")
    committed_mbps: int = Field(gt=0)
    burst_mbps: int = Field(gt=0)
    ports: int = Field(gt=0)


class LineOption(Plan):
    """A line that was weighed."""

    line: str
    rtt_ms: float = Field(ge=0, description="mean over users and carriers, by their shares")
    rtt_low_ms: float = Field(ge=0, description="mean of the lower bounds of 80 in 100 paths")
    rtt_high_ms: float = Field(ge=0, description="mean of the upper bounds")
    rtt_p95_ms: float = Field(ge=0)
    worst_carrier: str | None = Field(description="of the users in the mainland; None: none there")
    worst_ms: float = Field(ge=0)
    billing: Billing
    monthly: float | None = Field(description="None: on enquiry")
    currency: str | None
    example: bool = Field(description="a list price, not an offer")
    against: str | None = Field(description="why it was not taken; None: it was")


class BillingPlan(Plan):
    """How the line is paid."""

    kind: Billing
    billed_mbps: float = Field(ge=0, description="0 where traffic is billed")
    traffic_gb: float = Field(ge=0, description="10^9 bytes sent in a month of 30 days")
    mean_of_peak: float = Field(gt=0, le=1, description="mean of a month over its busiest minute")
    monthly: float | None = Field(description="None: on enquiry")
    currency: str | None
    example: bool = Field(description="a list price, not an offer")
    source: str | None = Field(description="where the price stands; None: on enquiry")


class PullPlan(Plan):
    """How long new weights take to a site, off peak."""

    over: Literal["line", "private"]
    size_bytes: int = Field(gt=0, description="to all servers of the site")
    seconds: float | None = Field(description="on the whole line; None: not over the line")
    window_s: float | None = Field(description="that was asked for")


class BandwidthPlan(Plan):
    """The line of a site, as it would be ordered."""

    region: str
    line: str = Field(description="line product, for example bgp; several are joined by +")
    carriers: list[str] = Field(description="on both sides of it; local: networks abroad")
    committed_mbps: int = Field(gt=0, description="of all parts together")
    burst_mbps: int = Field(gt=0, description="highest rate, of all parts together")
    egress_mbps: float = Field(ge=0, description="answers in the busiest minute, before headroom")
    ingress_mbps: float = Field(ge=0, description="requests, the same")
    rtt_ms: float = Field(ge=0, description="mean over users and carriers, by their shares")
    parts: list[LinePart] = Field(min_length=1)
    options: list[LineOption] = Field(min_length=1)
    billing: BillingPlan
    pull: PullPlan | None = Field(description="None: weights come from this machine")


class HostPlan(Plan):
    """One machine."""

    name: str
    role: HostRole
    cpus: float = Field(gt=0)
    memory_mb: int = Field(gt=0)
    private_address: str = Field(description="reached by the other hosts of the site")
    published_ports: dict[int, int] = Field(
        default_factory=dict, description="host port -> loopback port of the control machine"
    )


class SitePlan(Plan):
    """One region: hosts, their network, and the line to the users."""

    name: str
    region: str
    subnet: str
    hosts: list[HostPlan]
    bandwidth: BandwidthPlan


class PackageSource(Plan):
    """Weights inside a Python package."""

    kind: Literal["package"] = "package"
    package: str = Field(description="pinned, NAME==VERSION")
    file: str = Field(description="path inside the package")


class FileSource(Plan):
    """Weights in a file of the control machine."""

    kind: Literal["file"] = "file"
    path: str = Field(description="relative to the project folder, or absolute")


class EnginePlan(Plan):
    """How the engine of each replica is started."""

    kind: EngineKind
    context_tokens: int = Field(gt=0, description="of one request")
    slots: int = Field(gt=0, description="requests generated at the same time")
    threads: int = Field(gt=0)
    batch_tokens: int = Field(gt=0, description="prompt tokens of one step; bounds cancel latency")
    options: dict[str, Scalar] = Field(default_factory=dict)


class WarmupShape(Plan):
    """One kind of request that callers send."""

    prompt_tokens: int = Field(gt=0)
    output_tokens: int = Field(gt=0)
    stream: bool
    concurrency: int = Field(gt=0)


class WarmupPlan(Plan):
    """What proves that a replica is warm."""

    shapes: list[WarmupShape] = Field(min_length=1)
    window: int = Field(ge=2, description="the last K probes of a shape must agree")
    ratio: float = Field(gt=1, description="each within this factor of their running median")
    max_probes: int = Field(description="per shape, then the start has failed")
    budget_s: float = Field(gt=0, description="from process start to ready")


class LimitsPlan(Plan):
    """What one request, and all requests of a replica together, may ask for."""

    max_output_tokens: int = Field(gt=0)
    max_body_bytes: int = Field(gt=0)
    max_in_flight: int = Field(gt=0, description="generating and waiting, per replica")


class ModelPlan(Plan):
    """One model that every replica serves."""

    name: str = Field(description="name in the API")
    task: str
    source: Annotated[PackageSource | FileSource, Field(discriminator="kind")]
    file_name: str
    size_bytes: int = Field(gt=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    precision: str
    engine: EnginePlan
    cold_start: ColdStartPlan
    warmup: WarmupPlan
    limits: LimitsPlan

    @property
    def revision(self) -> str:
        """Short identity of the weights, used in paths."""
        return self.sha256[:12]

    @model_validator(mode="after")
    def _file_name_is_a_name(self) -> Self:
        if PurePosixPath(self.file_name).name != self.file_name:
            msg = f"file_name is {self.file_name!r}; needed: a file name without folders"
            raise ValueError(msg)
        return self


class SloPlan(Plan):
    """What the endpoint is held to."""

    first_request_ratio: float = Field(ge=1, description="first request against the steady median")
    cold_start_s: float = Field(gt=0, description="process start to ready")
    ttft_p95_s: float | None = Field(default=None, gt=0, description="time to first token")
    availability: float = Field(gt=0, lt=1, description="0.999 is 99.9 %")


class UpdatesPlan(Plan):
    """What operations and updates must leave in place."""

    floor: int = Field(ge=0, description="ready replicas of each model")


class Decision(Plan):
    """One choice with its numbers: why a field has its value."""

    field: str = Field(description="path in the plan, for example models[0].engine.slots")
    value: Scalar | list[Scalar]
    reason: str
    inputs: dict[str, Scalar] = Field(default_factory=dict)
    source: str | None = Field(default=None, description="where the facts come from")


class CommonPlan(Plan):
    """What plans of all kinds of environments hold."""

    schema_version: Literal[1] = SCHEMA_VERSION
    catalog_version: str
    spec_sha256: str = Field(description="of the spec's meaning: comments and order do not count")
    environment: str
    counted_users: CountedUsers | None = Field(
        default=None,
        description="where a file counts the users; planning again takes them from here",
    )
    probes: ProbeFacts | None = Field(
        default=None,
        description="round-trip times of the user; where their file is gone, planning again takes "
        "them from here",
    )
    timeouts: TimeoutChain
    slo: SloPlan
    updates: UpdatesPlan
    decisions: list[Decision]


class FleetPlan(CommonPlan):
    """Everything that is to exist for one environment that can be brought up."""

    kind: Literal["lab"]
    endpoint: EndpointPlan
    sites: list[SitePlan] = Field(min_length=1)
    models: list[ModelPlan] = Field(min_length=1)

    @property
    def hosts(self) -> list[HostPlan]:
        """All hosts of all sites, in order."""
        return [host for site in self.sites for host in site.hosts]

    @model_validator(mode="after")
    def _start_outlives_warmup(self) -> Self:
        start_outlives_warmup(self.timeouts, {m.name: m.warmup.budget_s for m in self.models})
        return self


def start_outlives_warmup(chain: TimeoutChain, budgets_s: Mapping[str, float]) -> None:
    """Refuse a chain in which systemd ends a start that is still warming.

    Raises:
        ValueError: with the model whose budget it is.
    """
    for name, budget_s in budgets_s.items():
        if chain.systemd_start_s <= budget_s:
            raise ValueError(
                conflict(
                    "timeouts.systemd_start_s",
                    chain.systemd_start_s,
                    f"the warm-up budget of model {name}",
                    budget_s,
                    "systemd would kill a start that is still warming",
                )
            )
