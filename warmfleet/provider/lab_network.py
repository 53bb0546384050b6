"""``LabNetwork``: the private network of a lab's hosts."""

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Any, ClassVar

from pydantic import Field, field_validator

from warmfleet.provider.backend import Backend, NetworkSpec, network_name
from warmfleet.provider.resource import Inputs, Resource

__all__ = ["LabNetwork", "LabNetworkInputs"]


class LabNetworkInputs(Inputs):
    """Inputs of a lab network."""

    environment: str = Field(
        pattern=r"^[a-z][a-z0-9-]{0,30}$", description="environment that the network belongs to"
    )
    owner: str = Field(pattern=r"^[0-9a-f]{16}$", description="whose environment: from its SSH key")
    subnet: str = Field(description="IPv4 network of this machine's own, such as 192.0.2.0/24")

    @field_validator("subnet")
    @classmethod
    def _subnet_is_a_private_network(cls, value: str) -> str:
        network = IPv4Network(value)
        if network.prefixlen > 28:
            msg = f"{value} has {network.num_addresses} addresses, needed: 16 or more"
            raise ValueError(msg)
        return value


class LabNetwork(Resource):
    """A bridge network on this machine, shared by the hosts of one environment."""

    kind = "warmfleet:index:LabNetwork"
    inputs = LabNetworkInputs
    outputs: ClassVar = {"name": (str, "name that podman knows it by")}
    replaced_by = frozenset({"environment", "owner", "subnet"})

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def identity(self, news: Mapping[str, Any]) -> str:
        """Return the network's name."""
        return network_name(news["environment"])

    def create(self, news: Mapping[str, Any]) -> dict[str, Any]:
        """Make the network, or keep the same one that a broken run left."""
        name = self.identity(news)
        self._backend.create_network(
            NetworkSpec(
                name=name,
                environment=news["environment"],
                owner=news["owner"],
                subnet=news["subnet"],
            )
        )
        return {**news, "name": name}

    def read(self, identity: str, state: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the network as found; one with its name that is not ours is not it."""
        found = self._backend.find_network(identity)
        if found is None or found.environment is None or found.owner != state.get("owner"):
            return None
        return {
            **state,
            "name": found.name,
            "environment": found.environment,
            "subnet": found.subnet,
        }

    def update(self, state: Mapping[str, Any], news: Mapping[str, Any]) -> dict[str, Any]:
        """Take the new inputs over; every input that matters to podman replaces."""
        return {**state, **news}

    def delete(self, identity: str) -> None:
        """Remove the network."""
        self._backend.remove_network(identity)
