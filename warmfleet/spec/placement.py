"""Where the hosts come from: containers on this machine, or leased servers."""

from ipaddress import IPv4Network
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PlainValidator, model_validator

from inference_app.problems import shown
from warmfleet.spec.cards import Cards
from warmfleet.spec.fields import Positive, SpecModel, bound, checked, disagree, unique
from warmfleet.spec.servers import Day, ServerSpec
from warmfleet.spec.units import Months

__all__ = [
    "MAX_LAB_REPLICAS",
    "MAX_SITES",
    "BaremetalPlacement",
    "LabPlacement",
    "Placement",
    "SitesSpec",
]

MAX_LAB_REPLICAS = 8
"""A replica is a container of about 1 GB here; more than this is no longer one machine."""

MAX_SITES = 4
"""Sites that serve users: of more, each would be a server or two."""


def _private_network(found: Any) -> Any:
    """Read a network; a host's address in it is the commonest slip, so name the network."""
    needed = "a private network between /16 and /27 such as 10.89.77.0/24"
    try:
        network = IPv4Network(str(found), strict=False)
    except ValueError:
        network = None
    if network is None or not network.is_private or not 16 <= network.prefixlen <= 27:
        said = f"found {shown(found)}; needed {needed}"
    elif str(network) != str(found):
        said = f"found {found!r}; needed {needed}; did you mean '{network}'?"
    else:
        return network
    raise bound(said)


PrivateNetwork = Annotated[
    IPv4Network, PlainValidator(_private_network, json_schema_input_type=str)
]


CardName = Annotated[str, Field(min_length=1, max_length=60)]

Rent = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]

BookPath = Annotated[
    str,
    Field(max_length=1000),
    checked(
        lambda text: text.endswith((".yaml", ".yml")) and "\0" not in text,
        "the path of a price book such as prices.yaml",
    ),
]


class LabPlacement(SpecModel):
    """Containers on this machine: a gateway and replicas."""

    kind: Literal["lab"] = Field(description="hosts are containers on this machine")
    replicas: int | None = Field(
        default=None, ge=1, le=MAX_LAB_REPLICAS, description="planned from the load if absent"
    )
    port: int = Field(default=8443, ge=1, le=65535, description="of the endpoint, on loopback")
    ssh_port: int = Field(
        default=2210, ge=1, le=65535, description="first of one SSH port per host, on loopback"
    )
    subnet: PrivateNetwork = Field(
        default=IPv4Network("10.89.77.0/24"), description="private network of the hosts"
    )


class SitesSpec(SpecModel):
    """How many sites there may be, and where."""

    at_most: int = Field(
        default=MAX_SITES,
        ge=1,
        le=MAX_SITES,
        description="sites that serve users; as few as keep slo.rtt_p95, and one without it",
    )
    disaster_recovery: bool = Field(
        default=False,
        description="true: one site more, far from the others, that can take over the load of the "
        "largest",
    )
    regions: tuple[str, ...] = Field(
        default=(), description="regions to choose among; all of the catalog if absent"
    )

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        unique_regions = dict.fromkeys(self.regions)
        if len(unique_regions) < len(self.regions):
            twice = next(name for name in unique_regions if self.regions.count(name) > 1)
            raise bound(f"found {twice!r} twice in regions; needed each once")
        return self


class BaremetalPlacement(SpecModel):
    """Leased GPU servers; without any listed, the plan says what to rent."""

    kind: Literal["baremetal"] = Field(description="hosts are leased servers")
    gpu: Cards | None = Field(
        default=None,
        description="rent only servers with this card, or with so many of it; any if absent",
    )
    prices: BookPath | dict[CardName, Rent] = Field(
        default_factory=dict,
        description="path of a price book (YAML), or cards on offer with the rent of one a month: "
        "where it has cards or servers only these are rented, the cheapest that does first",
    )
    term: Annotated[Months, Positive] | None = Field(
        default=None, description="for how long to rent; a quotation asks for it"
    )
    needed_by: Day | None = Field(
        default=None, description="day by which servers and line are to be there"
    )
    region: str | None = Field(
        default=None,
        description="the one site that serves users; chosen by where they are if absent",
    )
    sites: SitesSpec = Field(
        default=SitesSpec(), description="how many sites there may be, and where"
    )
    icp_filing: bool = Field(
        default=True,
        description="false: no ICP filing will be made, which keeps sites out of mainland China",
    )
    servers: tuple[ServerSpec, ...] = Field(
        default=(), description="servers that are leased already: the plan keeps to them"
    )

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        unique("placement.servers", "name", (server.name for server in self.servers))
        unique("placement.servers", "address", (server.address for server in self.servers))
        for index, server in enumerate(self.servers):
            if server.contract.gpu.count is None:
                said = f"found '{server.contract.gpu}'; needed how many: 1 x {server.contract.gpu}"
                disagree(f"placement.servers[{index}].contract.gpu", said)
        self._regions_agree()
        if self.gpu is not None and self.servers:
            disagree(
                "placement.gpu",
                "found beside servers; needed one of them: the contracts say which cards there are",
            )
        if isinstance(self.prices, dict) and self.prices and (self.servers or self.gpu is not None):
            said = (
                "found beside servers or gpu; needed one of them: those say which cards there are"
            )
            disagree("placement.prices", said)
        return self

    def _regions_agree(self) -> None:
        if self.region is not None and self.sites.regions:
            disagree("placement.sites.regions", "found beside region; needed one of them")
        named = [server.region for server in self.servers]
        if not any(named):
            return
        for index, region in enumerate(named):
            at = f"placement.servers[{index}].region"
            if region is None:
                disagree(at, "missing; needed of each server, as others have one")
            if self.region is not None:
                disagree(at, "found beside placement.region; needed one of them")


Placement = Annotated[LabPlacement | BaremetalPlacement, Field(discriminator="kind")]
