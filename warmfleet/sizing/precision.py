"""How many bits a weight takes, by number format and by what part of the model it is in."""

from typing import Final

from msgspec import Struct

from inference_app.problems import nearest
from warmfleet.errors import NameUnknownError
from warmfleet.sizing.gguf import GGUF_TYPES

__all__ = ["PRECISIONS", "Precision", "find_precision"]


class Precision(Struct, frozen=True):
    """A number format of published weights; bits include scales and zero points."""

    id: str
    linear_bits: float
    """Of attention and feed-forward weights; in GGUF of most of them."""
    source: str
    expert_bits: float | None = None
    """Of feed-forward weights of routed experts; None: as the other linear weights."""
    embedding_bits: float = 16.0
    """Of input and output embedding."""
    feed_forward_bits: float | None = None
    """Of feed-forward weights that every token uses; None: as the other linear weights."""
    expert_row_multiple: int = 1
    """Kernels pad the rows of experts to a multiple of this many values."""
    gguf: bool = False
    """A mixture that llama.cpp writes: bits differ by tensor, see ``sizing.gguf``."""


def _group(bits: int, size: int) -> float:
    """Return bits a weight with a 16-bit scale and a zero point of ``bits`` for each group."""
    return bits + (16 + bits) / size


_ARITHMETIC = "16-bit scale and zero point for each group"
_CHANNELS = 16 / 4096
"""A 16-bit scale for each output of a layer of usual width."""

_VLLM: Final = (
    Precision("fp32", 32, "IEEE 754", embedding_bits=32),
    Precision("bf16", 16, "two bytes"),
    Precision("fp16", 16, "two bytes"),
    Precision("fp8", 8 + _CHANNELS, "one byte and a scale for each output or 128 x 128 block"),
    Precision("int8", 8 + _CHANNELS, "one byte and a 16-bit scale for each output (w8a8, w8a16)"),
    Precision(
        "experts_int8",
        16,
        "vLLM quantization experts_int8: feed-forward weights only; Jamba-1.5-Mini logs 51.5 GiB "
        "(vllm-project/vllm issue 7992), where its dense blocks are experts too",
        expert_bits=8 + _CHANNELS,
        feed_forward_bits=8 + _CHANNELS,
    ),
    Precision("awq", _group(4, 128), f"{_ARITHMETIC} of 128"),
    Precision("gptq", _group(4, 128), f"{_ARITHMETIC} of 128"),
    Precision("gptq8", _group(8, 128), f"{_ARITHMETIC} of 128"),
    Precision("w4a16", 4 + 16 / 128, "16-bit scale for each group of 128, symmetric"),
    Precision("awq-g32", _group(4, 32), f"{_ARITHMETIC} of 32"),
    Precision("nf4", 4.5, "bitsandbytes: an FP32 scale for each 64 weights"),
    Precision("nvfp4", 4.5, "an FP8 scale for each 16 weights"),
    Precision(
        "mxfp4",
        16,
        "OCP microscaling: an 8-bit scale for each 32 weights, experts only; engines pad rows of "
        "2880 to 3072 (gpt-oss-120b logs 64.38 GiB on H100: llm-d-planner)",
        expert_bits=4.25,
        expert_row_multiple=256,
    ),
)

_GGUF: Final = tuple(
    Precision(name, bits, "ggml-org/llama.cpp src/llama-quant.cpp, see sizing.gguf", gguf=True)
    for name, bits in GGUF_TYPES.items()
    if name not in {"f32", "bf16"}
)

PRECISIONS: Final = {row.id: row for row in (*_VLLM, *_GGUF)}
"""All number formats by their ids."""


def find_precision(name: str) -> Precision:
    """Return the format of this id.

    Raises:
        NameUnknownError: there is none; the nearest one is named.
    """
    try:
        return PRECISIONS[name.lower()]
    except KeyError as error:
        hint = nearest(name, PRECISIONS) or f"; known: {', '.join(PRECISIONS)}"
        msg = f"no precision {name!r}{hint}"
        raise NameUnknownError(msg) from error
