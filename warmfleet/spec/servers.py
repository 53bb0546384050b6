"""Servers that are leased already: where they are and what their contracts promise."""

import re
from datetime import date
from ipaddress import ip_address
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, PlainValidator

from inference_app.problems import shown
from warmfleet.spec.cards import Cards
from warmfleet.spec.fields import Name, Positive, SpecModel, bound, checked
from warmfleet.spec.units import BitRate, ByteRate, ByteSize

__all__ = ["ContractSpec", "Day", "DiskSpec", "LeaseSpec", "ServerSpec", "SshSpec"]

_HOST = re.compile(r"(?=.{1,253}\Z)(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*")


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        # All digits and dots, yet no address: a slip rather than a name.
        return _HOST.fullmatch(text) is not None and not re.fullmatch(r"[\d.]+", text)
    return True


def _is_fingerprint(text: str) -> bool:
    return re.fullmatch(r"SHA256:[A-Za-z0-9+/]{43}", text) is not None


def _day(found: Any) -> date:
    if isinstance(found, date):
        return found
    try:
        return date.fromisoformat(found)
    except (TypeError, ValueError) as error:
        raise bound(f"found {shown(found)}; needed a day such as 2027-06-30") from error


Day = Annotated[
    date,
    PlainValidator(_day, json_schema_input_type=str),
    PlainSerializer(date.isoformat, return_type=str),
]
"""A day as ISO 8601 writes it."""


class SshSpec(SpecModel):
    """How the control machine logs in."""

    user: Annotated[
        str, checked(lambda text: re.fullmatch(r"[a-z_][a-z0-9_-]*", text), "a user name")
    ] = Field(default="root", max_length=32, description="user to log in as")
    port: int = Field(default=22, ge=1, le=65535, description="of the SSH server")
    become: bool = Field(default=False, description="true when that user needs sudo")


class LeaseSpec(SpecModel):
    """The lease of a server, as on paper."""

    until: Day = Field(description="last day")
    reference: str | None = Field(
        default=None, max_length=100, description="number of the contract or order"
    )


class DiskSpec(SpecModel):
    """One NVMe disk; kernel names move between boots, serial numbers do not."""

    size: Annotated[ByteSize, Positive] = Field(description="as sold")
    read: Annotated[ByteRate, Positive] | None = Field(
        default=None,
        description="sequential rate, for example 6.5 GB/s; if absent, that of the plan",
    )
    serial: str | None = Field(default=None, max_length=64, description="as on the disk's label")
    use: Literal["model", "data", "system"] = Field(
        default="model", description="what it is to hold: weights, other data, or the system"
    )


class ContractSpec(SpecModel):
    """What a server was leased with; what is left out is not checked against the plan."""

    gpu: Cards = Field(description="cards, for example 2 x RTX 4090")
    cpu: int | None = Field(default=None, ge=1, le=4096, description="CPU cores")
    ram: Annotated[ByteSize, Positive] | None = Field(default=None, description="memory")
    nvme: tuple[DiskSpec, ...] = Field(default=(), description="disks")
    link: Annotated[BitRate, Positive] | None = Field(default=None, description="of the network")


class ServerSpec(SpecModel):
    """One leased server."""

    name: Name = Field(description="name of the host")
    address: Annotated[str, checked(_is_address, "an IP address or a host name")] = Field(
        description="where it is reached, or localhost"
    )
    region: str | None = Field(
        default=None, description="where it is; needed where servers are in several regions"
    )
    host_key: (
        Annotated[str, checked(_is_fingerprint, "a fingerprint, SHA256: and 43 characters")] | None
    ) = Field(default=None, description="fingerprint of its SSH host key, as ssh-keygen -lf prints")
    ssh: SshSpec = Field(default=SshSpec(), description="how to log in")
    lease: LeaseSpec | None = Field(default=None, description="how long it is there")
    contract: ContractSpec = Field(description="its hardware")
