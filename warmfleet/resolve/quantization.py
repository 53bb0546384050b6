"""Number format of published weights, from ``quantization_config`` and ``dtype``."""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from inference_app.problems import shown
from warmfleet.resolve.config_fields import Fields

__all__ = ["UNSTATED", "WeightsPrecision", "precision_of"]

_DTYPES: Final = {
    "bfloat16": "bf16",
    "bf16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "fp16": "fp16",
    "float32": "fp32",
    "float": "fp32",
    "fp32": "fp32",
    "float8_e4m3fn": "fp8",
}

UNSTATED: Final = "bf16"
"""What nearly all published weights are where nothing says it; fp16 is as large."""

# Methods with one number format.
_METHODS: Final = {
    "fp8": "fp8",
    "fbgemm_fp8": "fp8",
    "mxfp4": "mxfp4",
    "nvfp4": "nvfp4",
    "eetq": "int8",
    "experts_int8": "experts_int8",
}
_ALGORITHMS: Final = {"FP8": "fp8", "NVFP4": "nvfp4", "W4A16_AWQ": "awq", "W4A16": "w4a16"}
_READ: Final = (
    "awq, gptq, auto-round, bitsandbytes, compressed-tensors, modelopt, "
    f"{', '.join(_METHODS)} (or weights without quantization)"
)


class WeightsPrecision(Struct, frozen=True):
    """Id of the number format, and the weights that share a scale where that is stated."""

    id: str
    group_size: int | None = None


def precision_of(config: Mapping[str, Any], text: Fields) -> WeightsPrecision | None:
    """Return the number format of the linear weights; None when the config does not say.

    Args:
        config: The whole config.json.
        text: Fields of its text model.

    Raises:
        ValueError: a method or a number of bits that no engine here reads.
    """
    for holder in ("quantization_config", "compression_config"):
        said = config.get(holder) or text.get(holder)
        if said is not None:
            if not isinstance(said, Mapping):
                msg = f"{holder}: found {shown(said)}; needed a mapping"
                raise ValueError(msg)
            return _quantized(holder, Fields(said))
    found = text.get("dtype") or config.get("dtype") or config.get("torch_dtype")
    if found is None:
        return None
    name = str(found).removeprefix("torch.")
    if name not in _DTYPES:
        msg = f"torch_dtype: found {shown(found)}; needed bfloat16, float16 or float32"
        raise ValueError(msg)
    return WeightsPrecision(_DTYPES[name])


def _quantized(holder: str, said: Fields) -> WeightsPrecision:
    method = said.get("quant_method")
    if method is not None and not isinstance(method, str):
        msg = f"{holder}.quant_method: found {shown(method)}; needed {_READ}"
        raise ValueError(msg)
    if method is None and (said.get("load_in_4bit") or said.get("load_in_8bit")):
        method = "bitsandbytes"  # configs of 2023 do not name it
    if method in _METHODS:
        return WeightsPrecision(_METHODS[method])
    if method in {"awq", "gptq", "auto-round", "gptq_marlin", "awq_marlin"}:
        return _grouped(holder, said, method)
    if method == "bitsandbytes":
        return WeightsPrecision("nf4" if said.get("load_in_4bit") else "int8")
    if method in {"compressed-tensors", "sparseml"}:
        return _compressed(holder, said)
    if method == "modelopt":
        return _modelopt(holder, said)
    if method is None:
        msg = f"{holder}.quant_method: missing (as in weights for MLX); needed {_READ}"
    else:
        msg = f"{holder}.quant_method: found {shown(method)}; needed {_READ}"
    raise ValueError(msg)


def _grouped(holder: str, said: Fields, method: str) -> WeightsPrecision:
    bits = said.number("bits") or said.number("w_bit")
    group = said.number("group_size", least=-1) or said.number("q_group_size", least=-1)
    size = group if group and group > 0 else None
    packing = str(said.get("packing_format") or "")
    is_awq = method.startswith("awq") or (method == "auto-round" and "awq" in packing)
    if bits == 4 and is_awq:
        return WeightsPrecision("awq-g32" if size == 32 else "awq", size)
    if bits == 4:
        return WeightsPrecision("gptq", size)
    if bits == 8 and not is_awq:
        return WeightsPrecision("gptq8", size)
    msg = f"{holder}.bits: found {shown(bits)}; needed {'4' if is_awq else '4 or 8'}"
    raise ValueError(msg)


def _compressed(holder: str, said: Fields) -> WeightsPrecision:
    """Read compressed-tensors: of several groups the one with the fewest bits has most weights."""
    groups = said.get("config_groups")
    weights = [
        Fields(group["weights"])
        for group in (groups.values() if isinstance(groups, Mapping) else ())
        if isinstance(group, Mapping) and isinstance(group.get("weights"), Mapping)
    ]
    if not weights:
        msg = f"{holder}.config_groups: found no group with weights; needed num_bits and type"
        raise ValueError(msg)
    least = min(weights, key=lambda group: group.needed("num_bits"))
    bits, size = least.needed("num_bits"), least.number("group_size", least=-1)
    size = size if size and size > 0 else None
    kind = least.get("type")
    if (kind, bits) == ("float", 8):
        return WeightsPrecision("fp8", size)
    if (kind, bits) == ("int", 8):
        return WeightsPrecision("int8", size)
    if (kind, bits) == ("int", 4):
        return WeightsPrecision("gptq" if least.get("symmetric") is False else "w4a16", size)
    if (kind, bits) == ("float", 4):
        return WeightsPrecision("mxfp4" if size == 32 else "nvfp4", size)
    msg = f"{holder}.config_groups: found {kind} of {bits} bit; needed int or float of 4 or 8 bit"
    raise ValueError(msg)


def _modelopt(holder: str, said: Fields) -> WeightsPrecision:
    algorithm = str(said.get("quant_algo") or said.part("quantization").get("quant_algo"))
    if algorithm not in _ALGORITHMS:
        msg = f"{holder}.quant_algo: found {shown(algorithm)}; needed {', '.join(_ALGORITHMS)}"
        raise ValueError(msg)
    return WeightsPrecision(_ALGORITHMS[algorithm])
