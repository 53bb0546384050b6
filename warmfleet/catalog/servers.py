"""What servers are ordered with beside their cards: cores, memory, disks."""

import math
from functools import cache
from typing import Literal

from pydantic import Field

from warmfleet.catalog.load import read_table
from warmfleet.catalog.models import Row

__all__ = ["Disk", "ServerClass", "Sizes", "cores_for", "model_disks", "server_class", "sizes"]

_FILE = "servers.yaml"


class _CoresACard(Row):
    up_to_card_gb: int | None = Field(description="None: any")
    cores: int = Field(gt=0)


class _CoresOfMany(Row):
    cards: int = Field(gt=1, description="of a server, from here on")
    cores: int = Field(gt=0, description="a card at most")


class ServerClass(Row):
    """What comes with so many cores, at least."""

    cores: int = Field(gt=0)
    memory_gb: int = Field(gt=0)
    disk_gb: int = Field(gt=0)


class Sizes(Row):
    """Sizes that can be ordered."""

    what: Literal["memory", "disk"]
    sizes_gb: tuple[int, ...] = Field(min_length=1)

    def at_least(self, size_bytes: float) -> int:
        """Return the smallest size in bytes that holds so many; beyond the list several of it."""
        largest = self.sizes_gb[-1]
        for size in self.sizes_gb:
            if size_bytes <= size * 10**9:
                return size * 10**9
        return math.ceil(size_bytes / (largest * 10**9)) * largest * 10**9


class Disk(Row):
    """A kind of disk."""

    id: str
    name: str
    gb_per_s: float = Field(gt=0, description="10^9 bytes a second, read in sequence")
    model: bool = Field(description="for weights: NVMe only")


def cores_for(card_gb: int, cards: int) -> tuple[int, str]:
    """Return the cores of a server with so many of these cards, and the source of the rule."""
    rows = [_CoresACard.model_validate(row) for row in read_table(_FILE, "cores_a_card")]
    row = next(row for row in rows if row.up_to_card_gb is None or card_gb <= row.up_to_card_gb)
    many = [_CoresOfMany.model_validate(row) for row in read_table(_FILE, "cores_of_many")]
    return cards * min([row.cores, *(one.cores for one in many if cards >= one.cards)]), row.source


def server_class(cores: int) -> ServerClass:
    """Return the smallest class with so many cores; beyond the list the largest, with them."""
    rows = _classes()
    found = next((row for row in rows if row.cores >= cores), None)
    return found or rows[-1].model_copy(update={"cores": cores})


@cache
def sizes(what: Literal["memory", "disk"]) -> Sizes:
    """Return the sizes of memory or of a disk that can be ordered."""
    rows = (Sizes.model_validate(row) for row in read_table(_FILE, "steps"))
    return next(row for row in rows if row.what == what)


@cache
def model_disks() -> tuple[Disk, ...]:
    """Return disks for weights, the slowest first."""
    rows = (Disk.model_validate(row) for row in read_table(_FILE, "disks"))
    return tuple(sorted((row for row in rows if row.model), key=lambda row: row.gb_per_s))


@cache
def _classes() -> tuple[ServerClass, ...]:
    return tuple(ServerClass.model_validate(row) for row in read_table(_FILE, "classes"))
