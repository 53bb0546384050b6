"""Rows of the catalog; every one names its source."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from warmfleet.catalog.architecture import Architecture
from warmfleet.catalog.lines import Line, LinePrice
from warmfleet.catalog.rows import Row
from warmfleet.catalog.wire import Peaks, WireSizes

__all__ = [
    "Carrier",
    "Catalog",
    "Engine",
    "FrontRates",
    "LabHosts",
    "Line",
    "Model",
    "Peaks",
    "Place",
    "ProbedPath",
    "Rates",
    "Region",
    "Row",
    "RttKind",
    "Weights",
    "WireSizes",
]

EngineName = Literal["llamacpp", "fake"]

RttKind = Literal["mainland", "cross-border", "hongkong", "public-internet", "cloud-backbone"]

ProbedPath = tuple[str, str, str | None]
"""Ids of place, region, and carrier; None: of all carriers."""


class Model(Row):
    """A published model: what it is made for, and its shape."""

    id: str
    names: tuple[str, ...] = Field(default=(), description="other names of the same shape")
    precision: str = Field(default="bf16", description="of the published weights")
    tasks: tuple[str, ...] = Field(default=(), description="empty: not looked up")
    architecture: Architecture


class Weights(Row):
    """One file of weights."""

    model: str
    package: str = Field(description="Python package that carries it, NAME==VERSION")
    file: str
    format: str
    precision: str
    size_bytes: int = Field(gt=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Engine(Row):
    """What an engine needs besides the weights."""

    kind: EngineName
    formats: tuple[str, ...]
    batch_tokens: int = Field(gt=0)
    threads: int = Field(gt=0)
    kv_bytes_per_value: int = Field(gt=0)
    process_mb: int = Field(gt=0)


class StartRates(Row):
    """Measured seconds of the phases of a start, named as in the service's ledger."""

    process_start: float = Field(ge=0)
    imports: float = Field(ge=0)
    engine_start: float = Field(ge=0)
    engine_init: float = Field(ge=0)
    first_forward: float = Field(ge=0)
    ready: float = Field(ge=0)
    cold_gb_per_s: float = Field(gt=0, description="of weights with an empty page cache")
    hot_gb_per_s: float = Field(gt=0, description="of weights in the page cache")


class Rates(Row):
    """Measured speed of one engine, on the threads that its row names."""

    engine: EngineName
    model: str | None = Field(description="None: any")
    precision: str | None = Field(description="None: any")
    prefill_tokens_per_s: float = Field(gt=0)
    decode_tokens_per_s: dict[int, float] = Field(description="requests at a time -> all together")
    start: StartRates

    @model_validator(mode="after")
    def _starts_at_one(self) -> Self:
        rates = [self.decode_tokens_per_s[count] for count in sorted(self.decode_tokens_per_s)]
        if 1 not in self.decode_tokens_per_s or rates != sorted(rates):
            msg = "decode_tokens_per_s: needed an entry for 1, and no fall with more requests"
            raise ValueError(msg)
        return self


class HostSize(BaseModel):
    """Limits of one container."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    cpus: float = Field(gt=0)
    memory_mb: int = Field(gt=0)


class LabHosts(Row):
    """Sizes of the lab's containers."""

    gateway: HostSize
    replica_extra_cpus: float = Field(ge=0)
    system_mb: int = Field(gt=0)
    service_mb: int = Field(gt=0)
    memory_margin: float = Field(ge=1)
    memory_step_mb: int = Field(gt=0)
    probe_noise: float = Field(gt=1)


class Place(Row):
    """Where users are: a province of the mainland, or a country."""

    id: str
    name: str
    country: str = Field(pattern=r"^[A-Z]{2}$", description="ISO 3166-1")
    capital: str
    latitude: float = Field(ge=-90, le=90)
    longitude: float = Field(ge=-180, le=180)
    at: Literal["capital", "centre of city population"] = Field(
        description="what the coordinates are of"
    )
    internet_users_millions: float | None = Field(default=None, ge=0, description="None: not found")
    population_millions: float = Field(gt=0)

    @property
    def mainland(self) -> bool:
        """Return whether its users reach the world through the carriers of the mainland."""
        return self.country == "CN"


class Region(Row):
    """Where servers can be rented."""

    id: str
    city: str
    country: str = Field(pattern=r"^[A-Z]{2}$", description="ISO 3166-1")
    area: Literal[
        "south-china",
        "east-china",
        "north-china",
        "west-china",
        "hongkong",
        "overseas-apac",
        "overseas-mea",
        "overseas-europe",
        "overseas-americas",
    ]
    latitude: float = Field(ge=-90, le=90)
    longitude: float = Field(ge=-180, le=180)
    mainland: bool = Field(description="a website served here needs an ICP filing")
    codes: dict[Literal["alicloud", "aws", "azure", "gcp", "tencent"], str] = Field(
        default={}, description="names that clouds give it; absent: none, or not verified"
    )
    note: str | None = None


class Carrier(Row):
    """A network that users are on."""

    id: str
    name: str
    fixed_share_pct: float = Field(ge=0, le=100)


class FrontRates(Row):
    """What the processes in front of an engine cost on the CPU."""

    core_s_per_event: float = Field(gt=0, description="of one streamed token, on one core")
    tokens_per_thread_s: float = Field(gt=0, description="prompt text turned into tokens")


class Catalog(BaseModel):
    """All rows; ``version`` changes whenever any of them does."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    version: str
    models: tuple[Model, ...]
    weights: tuple[Weights, ...]
    engines: tuple[Engine, ...]
    rates: tuple[Rates, ...]
    lab: LabHosts
    regions: tuple[Region, ...]
    places: tuple[Place, ...]
    carriers: tuple[Carrier, ...]
    lines: tuple[Line, ...]
    line_prices: tuple[LinePrice, ...]
    wire: WireSizes
    front: FrontRates
    peaks: Peaks
    probes: dict[ProbedPath, float] = Field(
        default={}, description="milliseconds that the user measured: with them for one plan alone"
    )

    @model_validator(mode="after")
    def _references_exist(self) -> Self:
        models = {model.id for model in self.models}
        carriers = {carrier.id for carrier in self.carriers}
        lines, regions = {line.id for line in self.lines}, {region.id for region in self.regions}
        named = {row.model for row in self.weights} | {row.model for row in self.rates if row.model}
        unknown = (
            (named - models)
            | ({carrier for line in self.lines for carrier in line.carriers} - carriers)
            | ({price.line for price in self.line_prices} - lines)
            | ({region for price in self.line_prices for region in price.regions} - regions)
        )
        if unknown:
            msg = f"rows refer to what is not in the catalog: {', '.join(sorted(unknown))}"
            raise ValueError(msg)
        return self
