"""The plan of a fleet of GPU servers: what to rent, what runs on it, and how fast it will be.

Units are in the names, as in ``plan.models``; bytes of memory are per card.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from warmfleet.plan.cost_models import CostPlan
from warmfleet.plan.gpu_host_models import ServerPlan
from warmfleet.plan.models import (
    BandwidthPlan,
    CommonPlan,
    LimitsPlan,
    Plan,
    WarmupPlan,
    start_outlives_warmup,
)
from warmfleet.plan.site_models import RttPlan, SiteReplicasPlan, SiteRole, SiteUsersPlan
from warmfleet.plan.start_models import ColdStartPlan
from warmfleet.plan.update_models import ModelUpdatePlan
from warmfleet.resolve.model_facts import ModelFacts
from warmfleet.resolve.price_facts import PriceFacts
from warmfleet.spec.servers import Day

__all__ = [
    "CardsPlan",
    "GpuEnginePlan",
    "GpuFleetPlan",
    "GpuModelPlan",
    "GpuSitePlan",
    "LeasePlan",
    "LlamacppPlan",
    "MemoryPlan",
    "QualityLossPlan",
    "RefusedOffer",
    "ReplicaPlace",
    "ResidencyPlan",
    "ServerGroupPlan",
    "ThroughputPlan",
    "VllmPlan",
]


class CardsPlan(Plan):
    """The cards that hold one copy of a model."""

    gpu: str = Field(description="id in the catalog")
    name: str
    count: int = Field(gt=0)
    tensor_parallel: int = Field(gt=0)
    pipeline_parallel: int = Field(gt=0)


class RefusedOffer(Plan):
    """Cards that cannot hold the model or its load, and by how much."""

    offer: str = Field(description="for example 1 x Tesla T4")
    precision: str
    why: str
    missing_bytes: int | None = Field(default=None, gt=0, description="on each card")


class MemoryPlan(Plan):
    """Memory of the card that holds most."""

    total_bytes: int = Field(gt=0, description="what a program may have of the card")
    budget_bytes: int = Field(gt=0, description="what the engine's utilisation leaves of it")
    weights_bytes: int = Field(gt=0)
    kv_bytes: int = Field(ge=0, description="of the planned requests at their full length")
    activation_bytes: int = Field(ge=0)
    non_torch_bytes: int = Field(ge=0)
    graph_bytes: int = Field(ge=0)
    headroom_bytes: int = Field(ge=0, description="left beside all of these")
    planned_requests: int = Field(gt=0, description="at a time, in the busiest second")
    planned_tokens: int = Field(gt=0, description="that each of them holds")
    kv_capacity_tokens: int = Field(ge=0, description="that the whole cache holds")
    largest_concurrency: int = Field(ge=1, description="requests of the full context at a time")
    largest_context: int = Field(ge=1, description="at the planned number of requests")


class QualityLossPlan(Plan):
    """A published measurement of what the precision costs; not a promise for this model."""

    finding: str
    source: str


class ThroughputPlan(Plan):
    """Speed of one replica; of the published speeds half were off by more than ``error_pct``."""

    ttft_p95_s: float = Field(gt=0, description="to the first token at the planned load")
    stream_tokens_per_s: float = Field(
        ge=0, description="of one stream at the planned load; 0: the model only reads"
    )
    ceiling_tokens_per_s: float = Field(ge=0, description="answer tokens of all streams at most")
    ceiling_qps: float = Field(gt=0, description="requests of the callers' mix at most")
    error_pct: float = Field(ge=0)


class ResidencyPlan(Plan):
    """Whether the model stays on its cards, and what it costs where it does not."""

    kind: Literal["resident", "in_turn", "placeholder"]
    wait_s: float = Field(ge=0, description="of a request that finds another model in its place")
    host_memory_bytes: int = Field(ge=0, description="page cache or shared memory for the weights")


class VllmPlan(Plan):
    """Arguments of ``vllm serve``."""

    kind: Literal["vllm"] = "vllm"
    dtype: str
    quantization: str | None = Field(default=None, description="None: as the checkpoint says")
    max_model_len: int = Field(gt=0)
    max_num_seqs: int = Field(gt=0)
    max_num_batched_tokens: int = Field(gt=0)
    gpu_memory_utilization: float = Field(gt=0, le=1)
    tensor_parallel_size: int = Field(gt=0)
    pipeline_parallel_size: int = Field(gt=0)
    kv_cache_dtype: str
    api_server_count: int = Field(gt=0, description="processes that speak HTTP")
    renderer_num_workers: int = Field(gt=0, description="threads that turn text into tokens")


class LlamacppPlan(Plan):
    """Arguments of llama.cpp's server."""

    kind: Literal["llamacpp"] = "llamacpp"
    parallel: int = Field(gt=0)
    ctx_size: int = Field(gt=0, description="of all slots together")
    batch_size: int = Field(gt=0)
    ubatch_size: int = Field(gt=0)
    n_gpu_layers: int = Field(ge=0)
    flash_attn: bool
    cache_type_k: str
    cache_type_v: str
    threads: int = Field(gt=0, description="for what stays on the CPU")
    threads_http: int = Field(gt=0, description="threads that turn text into tokens")


GpuEnginePlan = Annotated[VllmPlan | LlamacppPlan, Field(discriminator="kind")]


class GpuModelPlan(Plan):
    """One model of the fleet."""

    name: str = Field(description="name in the API")
    task: str
    facts: ModelFacts = Field(description="as resolved; planning again takes them from here")
    precision: str
    quality: list[QualityLossPlan]
    cards: CardsPlan
    refused: list[RefusedOffer]
    memory: MemoryPlan
    throughput: ThroughputPlan
    replicas: int = Field(gt=0, description="of all sites")
    spare: int = Field(ge=0, description="of the replicas: what the load does not need")
    residency: ResidencyPlan
    engine: GpuEnginePlan
    cold_start: ColdStartPlan
    warmup: WarmupPlan
    limits: LimitsPlan


class ReplicaPlace(Plan):
    """Where on its server a replica runs."""

    model: str
    cards: list[int] = Field(min_length=1, description="numbers of its cards, 0 is the first")


class ServerGroupPlan(Plan):
    """Servers that are alike."""

    name: str
    gpu: str = Field(description="id in the catalog")
    card: str = Field(description="its name")
    gpus: int = Field(gt=0, description="of each server")
    count: int = Field(gt=0, description="servers")
    host: ServerPlan = Field(description="each server beside its cards")
    replicas: list[ReplicaPlace] = Field(description="on each server")
    servers: list[str] = Field(description="names of leased servers; none: to be rented")


class GpuSitePlan(Plan):
    """One region: whom it serves, its servers, and the line to the users."""

    name: str
    region: str
    role: SiteRole = Field(description="recovery: stands by for the loss of the largest site")
    load: float = Field(gt=0, le=1, description="share of all traffic that it can carry")
    users: list[SiteUsersPlan] = Field(
        min_length=1, description="most first; of a site that stands by, whom it would serve"
    )
    rtt: RttPlan
    cross_border_share: float = Field(
        ge=0, description="share of all users that reach it across the mainland's border"
    )
    icp_filing: bool = Field(description="a website served here needs an ICP filing")
    replicas: list[SiteReplicasPlan] = Field(min_length=1)
    bandwidth: BandwidthPlan
    groups: list[ServerGroupPlan] = Field(min_length=1)
    updates: list[ModelUpdatePlan] = Field(description="how each model is replaced, in their order")
    idle: list[str] = Field(description="leased servers that nothing needs")


class LeasePlan(Plan):
    """The lease of a server, as the spec has it."""

    server: str
    until: Day = Field(description="last day")
    reference: str | None


class GpuFleetPlan(CommonPlan):
    """Everything that is to be rented and run for one environment of GPU servers."""

    kind: Literal["baremetal"]
    rtt: RttPlan = Field(description="of all users, each at the site that serves them")
    sites: list[GpuSitePlan] = Field(min_length=1, description="the largest first")
    models: list[GpuModelPlan] = Field(min_length=1)
    prices: PriceFacts = Field(description="as resolved; planning again may take them from here")
    cost: CostPlan
    needed_by: Day | None = Field(description="day by which all of it is to be there")
    leases: list[LeasePlan] = Field(description="of leased servers, where they are said")

    @model_validator(mode="after")
    def _start_outlives_warmup(self) -> Self:
        start_outlives_warmup(self.timeouts, {m.name: m.warmup.budget_s for m in self.models})
        return self
