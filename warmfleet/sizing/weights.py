"""Bytes of weights on each GPU."""

import math

from warmfleet.catalog.architecture import Architecture
from warmfleet.sizing.parts import Parts, parts_of
from warmfleet.sizing.precision import Precision

__all__ = ["stage_layers", "stage_weights_bytes", "weights_bytes"]

_VOCABULARY_MULTIPLE = 64
_SIXTEEN = 16.0
_BITS = 8


def weights_bytes(
    architecture: Architecture,
    precision: Precision,
    *,
    tensor_parallel: int = 1,
    pipeline_parallel: int = 1,
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
        )
    )


def stage_weights_bytes(
    architecture: Architecture,
    precision: Precision,
    *,
    tensor_parallel: int = 1,
    pipeline_parallel: int = 1,
) -> tuple[int, ...]:
    """Return the bytes of weights on a GPU of each pipeline stage.

    The first stage holds the input embedding, the last one the output embedding, which is a
    second copy where both are one tensor.
    """
    parts = parts_of(architecture)
    layers = _layer_bits(architecture, parts, precision, tensor_parallel)
    vocabulary = _padded(architecture.vocabulary, _VOCABULARY_MULTIPLE) * architecture.hidden
    embedding = vocabulary * precision.embedding_bits / tensor_parallel
    other = architecture.other_parameters * _SIXTEEN / tensor_parallel
    stages = []
    for stage, count in enumerate(stage_layers(architecture.layers, pipeline_parallel)):
        bits = layers * count / architecture.layers
        if stage == 0:
            bits += embedding + other
        if stage == pipeline_parallel - 1 and (parts.head or pipeline_parallel > 1):
            bits += embedding
        stages.append(math.ceil(bits / _BITS))
    return tuple(stages)


def stage_layers(layers: int, pipeline_parallel: int) -> tuple[int, ...]:
    """Divide layers among pipeline stages as vLLM does: what is left over goes before the last.

    Source: vllm-project/vllm vllm/distributed/utils.py, get_pp_indices.
    """
    each, left = divmod(layers, pipeline_parallel)
    counts = [each] * pipeline_parallel
    for index in range(left):
        counts[-(index + 2) if pipeline_parallel > 1 else 0] += 1
    return tuple(counts)


def _layer_bits(
    shape: Architecture, parts: Parts, precision: Precision, tensor_parallel: int
) -> float:
    """Return the bits of all layers on one GPU, as if it held every stage."""
    linear = precision.linear_bits
    feed_forward = precision.feed_forward_bits or linear
    experts = (precision.expert_bits or linear) * _row_padding(shape, precision)
    return (
        parts.queries * linear / tensor_parallel
        + parts.keys_values * linear / min(tensor_parallel, shape.kv_heads)
        + parts.latent * linear
        + parts.router * _SIXTEEN
        + parts.feed_forward * feed_forward / tensor_parallel
        + parts.experts * experts / tensor_parallel
    )


def _row_padding(shape: Architecture, precision: Precision) -> float:
    return _padded(shape.hidden, precision.expert_row_multiple) / shape.hidden


def _padded(count: int, multiple: int) -> int:
    return -(-count // multiple) * multiple
