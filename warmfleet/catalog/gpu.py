"""Accelerators: the memory a program may really have, bandwidth, throughput, links."""

import math
import re
from functools import cache
from typing import Literal

from pydantic import Field

from inference_app.problems import nearest
from warmfleet.catalog.load import read_table
from warmfleet.catalog.models import Row
from warmfleet.errors import NameUnknownError

__all__ = ["Gpu", "find_gpu", "gpus"]

_GIB = 2**30
_MODIFIED = {"nvidia", "tesla", "geforce", "instinct", "amd", "graphics", "card", "gpu"}


class Gpu(Row):
    """One accelerator as rented. Throughput is dense, in 10^12 operations a second."""

    id: str
    name: str
    vendor: str
    memory_gb: int = Field(gt=0, description="as sold")
    nvml_total_gib: float = Field(gt=0, description="as nvidia-smi shows it")
    cuda_total_gib: float = Field(gt=0, description="what a program may have of it")
    cuda_total_is: Literal["measured", "derived"]
    bandwidth_gb_s: float | None = Field(default=None, gt=0, description="10^9 bytes a second")
    fp16_tflops: float | None = Field(
        default=None, gt=0, description="FP32 accumulation, which engines use; BF16 has the same"
    )
    fp16_half_accumulate_tflops: float | None = Field(
        default=None, gt=0, description="FP16 accumulation: twice as much on GeForce"
    )
    fp8_tflops: float | None = Field(default=None, gt=0, description="FP32 accumulation")
    compute_capability: str | None = None
    nvlink_gb_s: float = Field(default=0, ge=0, description="both directions; 0: PCIe only")
    pcie: str | None = Field(default=None, description="generation x lanes")
    tdp_w: int | None = Field(default=None, gt=0)
    form: str
    pci_device_id: str | None = None
    nvml_name: str | None = Field(default=None, description="never tells the memory by itself")

    @property
    def pcie_gb_s(self) -> float | None:
        """10^9 bytes a second of the slot, both directions: 2 a lane in 3.0, then doubled."""
        if self.pcie is None:
            return None
        generation, lanes = self.pcie.split("x")
        return math.pow(2, float(generation) - 2) * int(lanes)

    @property
    def cuda_total_bytes(self) -> int:
        """Bytes that a program may have."""
        return int(self.cuda_total_gib * _GIB)


@cache
def gpus() -> tuple[Gpu, ...]:
    """Return all accelerators of the catalog."""
    return tuple(Gpu.model_validate(row) for row in read_table("gpus.yaml", "gpus"))


def find_gpu(name: str) -> Gpu:
    """Return the accelerator of this id, name or NVML name, however it is written.

    A name that several cards share, such as ``A100`` or ``H100 80GB``, means the one that is
    first in the catalog among those whose names and memory have all of its words.

    Raises:
        NameUnknownError: no accelerator has these words; the nearest one is named.
    """
    wanted = _words(name)
    rows = gpus()
    for row in rows:
        if any(wanted == _words(known) for known in _names(row)):
            return row
    holding = [row for row in rows if wanted and wanted <= _all_words(row)]
    if holding:
        return holding[0]
    known = {known: row.id for row in rows for known in _names(row)}
    hint = nearest(name, known) or f"; known: {', '.join(row.id for row in rows)}"
    msg = f"no accelerator {name!r} in the catalog{hint}"
    raise NameUnknownError(msg)


def _names(row: Gpu) -> list[str]:
    return [row.id, row.name, *([row.nvml_name] if row.nvml_name else [])]


def _all_words(row: Gpu) -> frozenset[str]:
    return frozenset({f"{row.memory_gb}gb"}.union(*map(_words, _names(row))))


def _words(name: str) -> frozenset[str]:
    """Return the words that tell one card from another: ``RTX 4090`` and ``rtx4090`` are one."""
    text = re.sub(r"(?<=[a-z])(?=\d{4})", " ", name.lower())
    words = re.findall(r"[a-z0-9]+", text.replace("gib", "gb"))
    return frozenset(words) - _MODIFIED
