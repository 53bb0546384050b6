"""What resources need of the world: networks and hosts, behind one Protocol."""

import hashlib
import json
from collections.abc import Mapping
from typing import Protocol

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "ENVIRONMENT_LABEL",
    "OWNER_LABEL",
    "Backend",
    "HostSpec",
    "HostState",
    "NetworkSpec",
    "NetworkState",
    "container_name",
    "environment_of",
    "network_name",
    "owner_of",
]

ENVIRONMENT_LABEL = "warmfleet.environment"
"""Marks what is ours; nothing without it is ever adopted, changed or removed."""

OWNER_LABEL = "warmfleet.owner"
"""Tells apart environments of the same name in two checkouts of one machine."""


def owner_of(authorized_key: str) -> str:
    """Return who owns what is made for this public key: each environment has a key of its own."""
    return hashlib.sha256(authorized_key.split()[1].encode()).hexdigest()[:16]


def network_name(environment: str) -> str:
    """Return the name of an environment's network on this machine."""
    return f"warmfleet-{environment}"


def container_name(environment: str, host: str) -> str:
    """Return the name of a host's container on this machine."""
    return f"warmfleet-{environment}-{host}"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class NetworkSpec(_Model):
    """A bridge network for the hosts of one environment."""

    name: str
    environment: str
    owner: str = ""
    subnet: str


class NetworkState(_Model):
    """A network as found."""

    name: str
    subnet: str
    environment: str | None = Field(description="None: not ours")
    owner: str = ""


class HostSpec(_Model):
    """A systemd container that stands for a server."""

    name: str = Field(description="name of the container")
    hostname: str
    environment: str
    owner: str = ""
    image: str
    network: str | None = None
    private_address: str | None = None
    cpus: float | None = None
    memory_mb: int | None = None
    published_ports: dict[int, int] = Field(
        default_factory=dict, description="port of the host -> port on 127.0.0.1"
    )
    privileged: bool = False

    def digest(self) -> str:
        """Return what changes when anything that is fixed at creation changes."""
        # Sorted: the engine hands over a map's entries in any order.
        said = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(said.encode()).hexdigest()[:16]


class HostState(_Model):
    """A container as found."""

    name: str
    container_id: str
    running: bool
    never_started: bool = False
    environment: str | None = Field(description="None: not ours")
    owner: str = ""
    digest: str | None = Field(description="HostSpec.digest() that it was made from")
    image: str
    address: str | None = Field(description="in its network; None while stopped")
    published_ports: dict[int, int]


class Backend(Protocol):
    """Blocking calls with a time limit each; failures are WarmfleetErrors of one line."""

    def find_network(self, name: str) -> NetworkState | None:
        """Return the network, None only when it is proven absent."""
        ...

    def create_network(self, spec: NetworkSpec) -> None:
        """Make the network; one that is ours and the same is kept, a different one replaced."""
        ...

    def remove_network(self, name: str) -> None:
        """Remove the network and hosts of ours that are still in it; absent is fine."""
        ...

    def image_is_available(self, image: str) -> bool:
        """Tell whether the image is on this machine, or can be built here."""
        ...

    def find_host(self, name: str) -> HostState | None:
        """Return the host, None only when it is proven absent."""
        ...

    def create_host(self, spec: HostSpec) -> HostState:
        """Make and start the host; the same one of ours is kept, a different one replaced."""
        ...

    def open_host(self, name: str, authorized_key: str | None) -> str:
        """Wait until systemd and sshd are up, let the key in, return the host's public key."""
        ...

    def start_host(self, name: str) -> None:
        """Start a stopped host."""
        ...

    def remove_host(self, name: str) -> None:
        """Stop and remove the host with all it holds; absent is fine."""
        ...

    def port_is_free(self, port: int) -> bool:
        """Tell whether a listener could take ``port`` on 127.0.0.1 now."""
        ...

    def cancel(self) -> None:
        """Make the running calls, and all later ones, fail soon."""
        ...


def environment_of(labels: Mapping[str, str] | None) -> str | None:
    """Return the environment that labels name, None for what is not ours."""
    return (labels or {}).get(ENVIRONMENT_LABEL)
