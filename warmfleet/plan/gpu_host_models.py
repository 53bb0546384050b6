"""The plan of a server beside its cards: cores, memory, disks, driver.

``least`` is what runs on it needs and what contracts are held to; the rest is what to order.
"""

from typing import Literal

from pydantic import Field

from warmfleet.plan.models import Plan

__all__ = ["DataDiskPlan", "DriverPlan", "EngineBuildPlan", "ModelDiskPlan", "ServerPlan"]


class ModelDiskPlan(Plan):
    """The disk for weights, and for nothing else."""

    size_bytes: int = Field(gt=0, description="to order")
    least_bytes: int = Field(gt=0, description="two revisions of the weights")
    medium: str = Field(description="id in the catalog, for example nvme-gen4")
    medium_name: str
    read_gb_per_s: float = Field(gt=0, description="10^9 bytes a second that the medium reads")


class DataDiskPlan(Plan):
    """Another disk: system, engines, caches, logs."""

    size_bytes: int = Field(gt=0, description="to order")
    least_bytes: int = Field(gt=0)


class EngineBuildPlan(Plan):
    """An engine as it is installed."""

    engine: str
    version: str | None = Field(description="None: any of the year")
    cuda: str = Field(description="it was built for; it brings its own libraries")


class DriverPlan(Plan):
    """Driver of the cards."""

    branch: str = Field(description="for example R580")
    until: str = Field(description="month in which the branch ends")
    least: int = Field(gt=0, description="number of the oldest branch that runs the engines")
    newest: int | None = Field(description="number of the newest for the cards; None: any")
    kernel_modules: Literal["open", "proprietary"]
    builds: list[EngineBuildPlan] = Field(min_length=1)


class ServerPlan(Plan):
    """One server beside its cards."""

    cores: int = Field(gt=0, description="physical CPU cores, to order")
    least_cores: int = Field(gt=0)
    memory_bytes: int = Field(gt=0, description="to order")
    least_memory_bytes: int = Field(gt=0)
    swap: Literal["off"] = Field(description="weights never wait in swap")
    model_disk: ModelDiskPlan
    data_disk: DataDiskPlan
    driver: DriverPlan | None = Field(description="None: the catalog knows none for these cards")
