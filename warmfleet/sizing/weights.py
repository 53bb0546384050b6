"""Bytes of weights on each GPU."""

import math
from typing import Literal

from warmfleet.catalog.architecture import Architecture
from warmfleet.sizing.bits import Bits
from warmfleet.sizing.gguf import gguf_bits
from warmfleet.sizing.parts import Parts, parts_of
from warmfleet.sizing.precision import Precision

EngineName = Literal["vllm", "llamacpp"]

__all__ = [
    "EngineName",
    "bits_of",
    "rotation_bytes",
    "stage_layers",
    "stage_weights_bytes",
    "weights_bytes",
]

_VOCABULARY_MULTIPLE = 64
_SIXTEEN = 16.0
_BITS = 8

_NO_ROTATION = {"opt", "gpt2", "gpt_bigcode", "bloom", "mpt", "bert", "xlm-roberta", "jamba"}
_ROTATION_LENGTHS = {"gemma3": 9, "qwen2_vl": 4, "qwen2_5_vl": 4}
"""Trained contexts that the tables of positions cover: Gemma 3 stretches one of its two by 8,
positions in three dimensions are kept for four."""


def weights_bytes(
    architecture: Architecture,
    precision: Precision,
    *,
    tensor_parallel: int = 1,
    pipeline_parallel: int = 1,
    engine: EngineName | None = None,
) -> int:
    """Return the bytes of weights on the GPU that holds most of them.

    Embeddings stay 16 bit in AWQ, GPTQ, FP8 and bitsandbytes checkpoints; linear layers carry
    their scales. Tensor parallelism splits neither routers nor the down-projections of latent
    attention, repeats key and value heads where there are more GPUs than heads, and pads the
    vocabulary to a multiple of 64. Vision and audio parts are 16 bit and split.
    Source: vllm-project/vllm model_executor/layers (linear.py, vocab_parallel_embedding.py),
    compared with logged weights in benchmarks/sizing_truth.py.
    """
    return max(
        stage_weights_bytes(
            architecture,
            precision,
            tensor_parallel=tensor_parallel,
            pipeline_parallel=pipeline_parallel,
            engine=engine,
        )
    )


def stage_weights_bytes(
    architecture: Architecture,
    precision: Precision,
    *,
    tensor_parallel: int = 1,
    pipeline_parallel: int = 1,
    engine: EngineName | None = None,
) -> tuple[int, ...]:
    """Return the bytes of weights on a GPU of each pipeline stage.

    The first stage holds the input embedding, the last one the output embedding, which is a
    second copy where both are one tensor.

    Args:
        architecture: the model.
        precision: of its weights.
        tensor_parallel: GPUs that share a layer.
        pipeline_parallel: stages.
        engine: that loads them; None: the weights as they are in a file. llama.cpp leaves the
            input embedding on the host; vLLM gives queries, keys and values of a GGUF file rows of
            one width (model_executor/layers/quantization/gguf.py).
    """
    parts = parts_of(architecture)
    bits = bits_of(architecture, precision, engine=engine)
    layers = _layer_bits(architecture, parts, bits, tensor_parallel)
    vocabulary = _padded(architecture.vocabulary, _VOCABULARY_MULTIPLE) * architecture.hidden
    # llama.cpp keeps what sees and hears in a file of its own.
    other = 0 if precision.gguf else architecture.other_parameters * _SIXTEEN / tensor_parallel
    stages = []
    for stage, count in enumerate(stage_layers(architecture.layers, pipeline_parallel)):
        total = layers * count / architecture.layers
        if stage == 0:
            total += other
            if engine != "llamacpp":
                total += vocabulary * bits.embedding / tensor_parallel
        last = stage == pipeline_parallel - 1
        if last and (parts.head or stage > 0 or engine == "llamacpp"):
            total += vocabulary * bits.head / tensor_parallel
        if engine == "vllm":
            total += rotation_bytes(architecture) * _BITS
        stages.append(math.ceil(total / _BITS))
    return tuple(stages)


def bits_of(
    architecture: Architecture, precision: Precision, *, engine: EngineName | None = None
) -> Bits:
    """Return what a weight of each part takes in this precision."""
    if precision.gguf:
        parts = parts_of(architecture)
        return gguf_bits(architecture, precision.id, parts, one_width=engine == "vllm")
    linear = precision.linear_bits
    hidden = architecture.hidden
    padding = _padded(hidden, precision.expert_row_multiple) / hidden
    return Bits(
        embedding=precision.embedding_bits,
        head=precision.embedding_bits,
        queries=linear,
        keys_values=linear,
        latent=linear,
        router=_SIXTEEN,
        feed_forward=precision.feed_forward_bits or linear,
        experts=(precision.expert_bits or linear) * padding,
        other=linear,
    )


def rotation_bytes(architecture: Architecture) -> int:
    """Return the bytes of the table of sines and cosines that vLLM keeps on every GPU.

    16 bit for each position of the trained context and each dimension: 32 MiB for Llama 3.1 8B
    (14.99 GiB logged, 14.96 of weights), 580 MiB for Gemma 3 12B. Source: vllm-project/vllm
    model_executor/layers/rotary_embedding; issues 10517, 15766, 16061.
    """
    shape = architecture
    if shape.family in _NO_ROTATION:
        return 0
    width = shape.latent.rope_dim if shape.latent else shape.head_dim
    return shape.max_context * _ROTATION_LENGTHS.get(shape.family, 1) * width * 2


def stage_layers(layers: int, pipeline_parallel: int) -> tuple[int, ...]:
    """Divide layers among pipeline stages as vLLM does: what is left over goes before the last.

    Source: vllm-project/vllm vllm/distributed/utils.py, get_pp_indices.
    """
    each, left = divmod(layers, pipeline_parallel)
    counts = [each] * pipeline_parallel
    for index in range(left):
        counts[-(index + 2) if pipeline_parallel > 1 else 0] += 1
    return tuple(counts)


def _layer_bits(shape: Architecture, parts: Parts, bits: Bits, tensor_parallel: int) -> float:
    """Return the bits of all layers on one GPU, as if it held every stage."""
    return (
        parts.queries * bits.queries / tensor_parallel
        + parts.keys_values * bits.keys_values / min(tensor_parallel, shape.kv_heads)
        + parts.latent * bits.latent
        + parts.router * bits.router
        + parts.feed_forward * bits.feed_forward / tensor_parallel
        + parts.experts * bits.experts / tensor_parallel
        + parts.other * bits.other / tensor_parallel
    )


def _padded(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple
