"""``LabHost``: a systemd container that stands for a rented server."""

from collections.abc import Mapping
from ipaddress import IPv4Address
from typing import Any, ClassVar

from pydantic import Field, field_validator

from warmfleet.provider.backend import (
    Backend,
    HostSpec,
    HostState,
    container_name,
    owner_of,
)
from warmfleet.provider.codec import unknown_names
from warmfleet.provider.resource import Change, Failure, Inputs, Resource

__all__ = ["LabHost", "LabHostInputs"]


class LabHostInputs(Inputs):
    """Inputs of a lab host."""

    environment: str = Field(
        pattern=r"^[a-z][a-z0-9-]{0,30}$", description="environment that the host belongs to"
    )
    name: str = Field(pattern=r"^[a-z][a-z0-9-]{0,30}$", description="host name")
    image: str = Field(min_length=1, description="container image")
    network: str = Field(min_length=1, description="name of the lab network")
    private_address: str = Field(description="IPv4 address in the network")
    cpus: float = Field(gt=0, description="CPU time that it may use, in cores")
    memory_mb: int = Field(ge=64, description="memory limit, swap included")
    published_ports: dict[str, int] = Field(
        description="port of the host -> port on 127.0.0.1 of this machine; 22 is needed"
    )
    authorized_key: str = Field(
        pattern=r"^ssh-ed25519 [A-Za-z0-9+/=]+( .*)?$", description="public key let in as root"
    )

    @field_validator("private_address")
    @classmethod
    def _address_is_ipv4(cls, value: str) -> str:
        return str(IPv4Address(value))

    @field_validator("published_ports")
    @classmethod
    def _ports_are_ports(cls, value: dict[str, int]) -> dict[str, int]:
        if "22" not in value:
            msg = "port 22 is not published; SSH needs it"
            raise ValueError(msg)
        outside = list(value.values())
        for port in [*value, *map(str, outside)]:
            if not port.isdigit() or not 0 < int(port) < 65536:
                msg = f"{port} is not a port (1 to 65535)"
                raise ValueError(msg)
        if len(set(outside)) < len(outside):
            msg = "the same loopback port is published twice"
            raise ValueError(msg)
        return value


class LabHost(Resource):
    """A Debian host with systemd and SSH on this machine; ports only on 127.0.0.1."""

    kind = "warmfleet:index:LabHost"
    inputs = LabHostInputs
    outputs: ClassVar = {
        "container_id": (str, "ID that podman gave"),
        "host_key": (str, "public SSH host key, to be pinned"),
        "started": (bool, "whether it runs and lets the authorized key in"),
    }
    # Limits as well: podman changes them on a running container only until its next start.
    replaced_by = frozenset(LabHostInputs.model_fields) - {"authorized_key"}

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def check(self, news: Mapping[str, Any]) -> list[Failure]:
        """Return wrong inputs, and loopback ports that somebody else holds."""
        failures = super().check(news)
        unsure = {failure.property.split(".")[0] for failure in failures} | unknown_names(news)
        if "image" not in unsure:
            failures += self._missing_image(news["image"])
        if not unsure & {"environment", "name", "published_ports", "authorized_key"}:
            failures += self._taken(news)
        return failures

    def diff(self, state: Mapping[str, Any], news: Mapping[str, Any]) -> list[Change]:
        """Return differing inputs, and ``started`` when the host was found stopped."""
        changes = super().diff(state, news)
        if state.get("started") is False:
            changes.append(Change("started", "update", is_input=False))
        return changes

    def identity(self, news: Mapping[str, Any]) -> str:
        """Return the container's name."""
        return container_name(news["environment"], news["name"])

    def create(self, news: Mapping[str, Any]) -> dict[str, Any]:
        """Make and start the host; ends when SSH lets the key in."""
        found = self._backend.create_host(self._spec(news))
        return self._opened(news, found)

    def read(self, identity: str, state: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the host as found; a container with its name that is not ours is not it."""
        found = self._backend.find_host(identity)
        if found is None or found.environment is None:
            return None
        if found.owner != owner_of(state["authorized_key"]):
            return None
        # Another container in its place (made by hand) has another host key: it is opened anew.
        same = found.container_id == state.get("container_id")
        return {
            **state,
            "image": found.image,
            "published_ports": {str(k): port for k, port in found.published_ports.items()},
            "container_id": found.container_id,
            "started": found.running and same,
        }

    def update(self, state: Mapping[str, Any], news: Mapping[str, Any]) -> dict[str, Any]:
        """Start it when stopped, and let the new key in; gone meanwhile, it is made again."""
        identity = self.identity(news)
        found = self._backend.find_host(identity)
        if found is None:
            return self.create(news)
        if not found.running:
            self._backend.start_host(identity)
        return {**state, **self._opened(news, found)}

    def delete(self, identity: str) -> None:
        """Stop and remove the host with all it holds."""
        self._backend.remove_host(identity)

    def _opened(self, news: Mapping[str, Any], found: HostState) -> dict[str, Any]:
        host_key = self._backend.open_host(found.name, news["authorized_key"])
        return {
            **news,
            "container_id": found.container_id,
            "host_key": host_key,
            "started": True,
        }

    def _spec(self, news: Mapping[str, Any]) -> HostSpec:
        return HostSpec(
            name=self.identity(news),
            hostname=news["name"],
            environment=news["environment"],
            owner=owner_of(news["authorized_key"]),
            image=news["image"],
            network=news["network"],
            private_address=news["private_address"],
            cpus=news["cpus"],
            memory_mb=news["memory_mb"],
            published_ports={int(inside): port for inside, port in news["published_ports"].items()},
        )

    def _missing_image(self, image: str) -> list[Failure]:
        # Before the update: replacing a host removes the old one first.
        if self._backend.image_is_available(image):
            return []
        reason = f"{image} is not on this machine; build it (python -m warmfleet.provider.image)"
        return [Failure("image", reason)]

    def _taken(self, news: Mapping[str, Any]) -> list[Failure]:
        """Return what of this host's is somebody else's: its name, or ports."""
        published = news["published_ports"].values()
        busy = [port for port in published if not self._backend.port_is_free(port)]
        found = self._backend.find_host(self.identity(news))
        if found is None or found.environment is None:
            ours = set()
        elif found.owner == owner_of(news["authorized_key"]):
            ours = set(found.published_ports.values())
        else:
            reason = (
                f"container {found.name} belongs to another checkout on this machine; take it down "
                f"there, or remove it (podman rm --force {found.name})"
            )
            return [Failure("name", reason)]
        return [
            Failure(
                "published_ports",
                f"port {port} on 127.0.0.1 is taken by another program; "
                f"stop it (ss -ltnp 'sport = :{port}' names it) or choose other ports in the spec",
            )
            for port in busy
            if port not in ours
        ]
