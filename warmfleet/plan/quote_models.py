"""A request for quotation: what a hosting company is asked to offer, in numbers."""

from pydantic import Field

from warmfleet.plan.cost_models import SiteCost
from warmfleet.plan.models import Plan
from warmfleet.spec.network import Billing
from warmfleet.spec.servers import Day

__all__ = ["QuoteLine", "QuotePart", "QuoteRequest", "QuoteServers", "QuoteSite"]


class QuoteServers(Plan):
    """Servers that are alike, as they are ordered."""

    name: str
    count: int = Field(gt=0)
    gpus: int = Field(gt=0, description="of each server")
    card: str
    card_memory_gb: int = Field(gt=0, description="as sold")
    card_memory_seen_gib: float = Field(gt=0, description="as nvidia-smi shows it")
    cores: int = Field(gt=0, description="physical")
    memory_gb: int = Field(gt=0)
    model_disk_gb: int = Field(gt=0)
    model_disk_read_gb_per_s: float = Field(gt=0)
    data_disk_gb: int = Field(gt=0)
    driver: str | None = Field(description="branch that the cards must run with; None: any")


class QuotePart(Plan):
    """One line product; several have an address each."""

    product: str = Field(description="for example bgp")
    committed_mbps: int = Field(gt=0)
    burst_mbps: int = Field(gt=0)


class QuoteLine(Plan):
    """The line of a site."""

    parts: list[QuotePart] = Field(min_length=1)
    carriers: list[str] = Field(description="that users are on")
    port_gbps: int = Field(gt=0, description="of each server's network port")
    billing: Billing
    traffic_gb: float = Field(ge=0, description="10^9 bytes sent in a month")


class QuoteSite(Plan):
    """What is ordered for one region."""

    region: str
    city: str
    country: str = Field(description="ISO 3166-1")
    icp_filing: bool
    servers: list[QuoteServers] = Field(description="none: they are leased already")
    line: QuoteLine
    cost: SiteCost


class QuoteRequest(Plan):
    """The whole request."""

    environment: str
    term_months: int | None
    needed_by: Day | None
    currency: str
    example: bool = Field(description="true: prices beside the items are examples")
    prices: str
    sites: list[QuoteSite] = Field(min_length=1)

    @property
    def servers(self) -> list[QuoteServers]:
        """All servers of all sites."""
        return [servers for site in self.sites for servers in site.servers]
