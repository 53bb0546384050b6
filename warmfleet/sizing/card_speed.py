"""What of a card its speed follows from."""

from msgspec import Struct

from warmfleet.catalog.gpu import Gpu
from warmfleet.sizing.precision import Precision

__all__ = ["CardSpeed", "card_speed"]

_PCIE_GB_S = 64.0
"""4.0 x16: of boards whose slot the catalog does not know."""

_OTHER_REACH = 0.65
"""Share of their stated operations that AMD's cards reach of what NVIDIA's reach: products of large
matrices get 51 % on MI300X and 60 % on MI325X, against 78 to 87 % on A100, H100 and B200
(stas00/ml-engineering compute/accelerator/README.md)."""


class CardSpeed(Struct, frozen=True):
    """What of a card its speed follows from.

    Attributes:
        bandwidth_gb_s: of its memory, as the maker states it.
        tflops: dense, at the precision that the model computes in, fp32 accumulation.
        nvlink_gb_s: among the cards of a host, both directions together, as the maker states it;
            0: over PCIe only.
        pcie_gb_s: of the slot, both directions together (4.0 x16: 64).
    """

    bandwidth_gb_s: float
    tflops: float
    nvlink_gb_s: float = 0.0
    pcie_gb_s: float = _PCIE_GB_S


def card_speed(gpu: Gpu, precision: Precision) -> CardSpeed | None:
    """Return the speed of a card with weights in this precision; None where it is not known.

    FP8 weights compute in FP8 where the card can. All others compute in 16 bit: what is stored in
    fewer bits is unpacked first. Cards for PCIe slots are linked in pairs by a bridge that is sold
    apart: it is not counted on.
    """
    tflops = gpu.fp16_tflops
    if precision.id == "fp8" and gpu.fp8_tflops is not None:
        tflops = gpu.fp8_tflops
    if gpu.bandwidth_gb_s is None or tflops is None:
        return None
    reach = 1.0 if gpu.vendor == "NVIDIA" else _OTHER_REACH
    return CardSpeed(
        bandwidth_gb_s=gpu.bandwidth_gb_s,
        tflops=tflops * reach,
        nvlink_gb_s=0.0 if gpu.form.startswith("PCIe") else gpu.nvlink_gb_s,
        pcie_gb_s=gpu.pcie_gb_s or _PCIE_GB_S,
    )
