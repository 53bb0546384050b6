"""The stack output ``fleet``: written by the program, read by the inventory and the CLI."""

from enum import StrEnum
from typing import Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from warmfleet.errors import StackError

__all__ = [
    "OUTPUT_NAME",
    "SCHEMA_VERSION",
    "BandwidthOutput",
    "FleetOutput",
    "HostOutput",
    "HostRole",
    "SiteOutput",
    "SshOutput",
]

OUTPUT_NAME = "fleet"
SCHEMA_VERSION: Final = 1


class _Output(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class HostRole(StrEnum):
    """What a host does; also the name of its inventory group, in the plural."""

    GATEWAY = "gateway"
    REPLICA = "replica"


class SshOutput(_Output):
    """How the control machine reaches a host."""

    address: str
    port: int
    user: str
    host_key: str = Field(description="pinned public key, 'ssh-ed25519 AAAA...'")


class HostOutput(_Output):
    """One host."""

    name: str
    role: HostRole
    ssh: SshOutput
    private_address: str = Field(description="reached by the other hosts of the site")
    published_ports: dict[int, int] = Field(
        default_factory=dict, description="host port -> loopback port of the control machine (lab)"
    )


class BandwidthOutput(_Output):
    """The line of a site."""

    committed_mbps: int
    burst_mbps: int
    carriers: list[str]


class SiteOutput(_Output):
    """One region."""

    name: str
    region: str
    bandwidth: BandwidthOutput
    hosts: list[HostOutput]


class FleetOutput(_Output):
    """Everything that later rooms know of the stack."""

    schema_version: Literal[1] = SCHEMA_VERSION
    environment: str
    kind: str
    endpoint: str = Field(description="base URL that clients use, 'https://...:8443'")
    sites: list[SiteOutput]

    @property
    def hosts(self) -> list[HostOutput]:
        """All hosts of all sites, in order."""
        return [host for site in self.sites for host in site.hosts]

    @classmethod
    def read(cls, value: object) -> Self:
        """Validate what ``pulumi stack output fleet`` gave.

        Raises:
            StackError: another schema version, or not a fleet.
        """
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            found = value.get("schema_version") if isinstance(value, dict) else type(value).__name__
            msg = (
                f"stack output {OUTPUT_NAME!r} is not readable (schema version {found}, "
                f"needed {SCHEMA_VERSION}): {error.errors()[0]['msg']}; run pulumi up again"
            )
            raise StackError(msg) from error
