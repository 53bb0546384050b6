"""Can a card compute with weights in a number format?"""

from typing import Final

from warmfleet.catalog.gpu import Gpu
from warmfleet.sizing.precision import Precision

__all__ = ["incapability"]

_LEAST_CAPABILITY: Final = {
    "fp8": 8.0,
    "int8": 7.5,
    "awq": 7.5,
    "awq-g32": 7.5,
    "w4a16": 7.5,
    "mxfp4": 8.0,
    "nvfp4": 7.5,
}
"""Compute capability of the oldest cards whose kernels vLLM has (docs.vllm.ai quantization,
supported hardware): AWQ, INT8 and Marlin from Turing on, MXFP4 from Ampere on. FP8 on Ampere is
stored in 8 bit and computed in 16."""

_LEAST_OF_VLLM: Final = 7.0
"""docs.vllm.ai getting_started/installation/gpu."""


def incapability(gpu: Gpu, precision: Precision, engine: str = "vllm") -> str | None:
    """Return why a card cannot serve weights in this format; None where it can.

    Cards that do not count in compute capabilities (AMD, Huawei) are taken at their word for 16
    bit and FP8; of the other formats vLLM's table says nothing for certain.
    """
    if engine != "vllm":
        return None
    if gpu.vendor != "NVIDIA":
        if precision.id in {"bf16", "fp16"} or (precision.id == "fp8" and gpu.fp8_tflops):
            return None
        return f"vLLM's kernels for {precision.id} are not for {gpu.vendor}"
    least = max(_LEAST_OF_VLLM, _LEAST_CAPABILITY.get(precision.id, 0.0))
    if gpu.compute_capability is None or float(gpu.compute_capability) >= least:
        return None
    return f"compute capability {gpu.compute_capability}; {precision.id} needs {least}"
