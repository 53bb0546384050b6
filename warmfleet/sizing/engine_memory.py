"""What an engine holds besides weights and cache, and the settings that it depends on."""

from typing import Literal

from msgspec import Struct

from warmfleet.catalog.architecture import Architecture

__all__ = ["EngineMemory", "activation_bytes", "graph_bytes", "non_torch_bytes"]

_GIB = 2**30

_SAMPLER_COPIES = 9.7
_FLOAT = 4
_HALF = 2
_FEED_FORWARD_COPIES = 3
_ENCODER = 0.4 * _GIB
_IMAGE_ELEMENTS = {"mllama": 6404 * 3 * 7680}
"""Of the images of one sequence, which cross-attention keeps for all sequences at once."""

_NON_TORCH_ONE = 0.13
_NON_TORCH_LINK = 0.42
_NON_TORCH_PCIE = 0.05
_GRAPH = 0.018 * _GIB


class EngineMemory(Struct, frozen=True):
    """Settings of an engine that decide on memory.

    The defaults are those of vLLM 0.10 and later on cards under 70 GiB
    (vllm-project/vllm vllm/engine/arg_utils.py, get_batch_defaults).
    """

    engine: Literal["vllm", "llamacpp"] = "vllm"
    utilisation: float = 0.9
    """Share of the GPU's memory that the engine may use, graphs excepted."""
    max_num_seqs: int = 256
    max_batched_tokens: int = 2048
    kv_dtype: str = "auto"
    graphs: bool = True
    windows: bool = True
    """Frees what is outside of a layer's window."""
    latent: bool = True
    """Keeps latent attention compressed."""
    pooling: bool = False
    """Reads only, for embeddings and classes: there is no sampler."""
    reserved: float = 1.0
    """What the engine counts of activations, as a multiple of what they use."""
    flash_attention: bool = True
    """llama.cpp: without it the scores of all heads are held."""


def activation_bytes(
    architecture: Architecture, engine: EngineMemory, *, tensor_parallel: int = 1, context: int = 0
) -> int:
    """Return the most bytes that a step needs on one GPU.

    vLLM: the larger of the sampler's buffers for every sequence, 9.7 x sequences x vocabulary x
    4 bytes, and of the feed-forward buffers for every token of a batch, 3 x tokens x
    (intermediate / tensor_parallel + hidden) x 2 bytes. Fitted on logged "PyTorch activation
    peak memory" (vllm-project/vllm issues 10517, 12529, 15360, 15394; llm-d-planner
    docs/empirical-vllm-memory-results.md): 19 rows gave factors of 9.6 to 10.3. Models that see
    or hear are profiled with as many sequences as images fill a batch, so the sampler does not
    count, but 0.4 GiB for the encoder does (issues 11899, 15766, 16570, 19736; vllm
    worker/model_runner.py, profile_run); cross-attention holds the images of all sequences
    (36.6 GiB for 128 in pull 12126). Pooling models are profiled without a sampler
    (vllm/v1/worker/gpu_model_runner.py, profile_run).

    llama.cpp: logits of a batch in 32 bit and the widest hidden buffers; without flash attention
    also the scores of all heads over the context (ggml-org/llama.cpp issues 10701, 9112).
    """
    shape = architecture
    if engine.engine == "llamacpp":
        tokens = min(engine.max_batched_tokens, context or engine.max_batched_tokens)
        widest = shape.vocabulary
        if not engine.flash_attention:
            widest = max(widest, shape.heads * context)
        return tokens * (widest + shape.hidden) * _FLOAT
    width = shape.intermediate / tensor_parallel + shape.hidden
    feed_forward = engine.max_batched_tokens * width * _FEED_FORWARD_COPIES * _HALF
    if shape.other_parameters:
        images = _IMAGE_ELEMENTS.get(shape.family, 0) * engine.max_num_seqs * _HALF
        return int((feed_forward + _ENCODER + images) * engine.reserved)
    sequences = 0 if engine.pooling else engine.max_num_seqs
    sampler = _SAMPLER_COPIES * sequences * shape.vocabulary * _FLOAT
    return int(max(sampler, feed_forward) * engine.reserved)


def non_torch_bytes(*, tensor_parallel: int, nvlink: bool) -> int:
    """Return the bytes of the CUDA context's libraries and of the links between GPUs.

    0.13 GiB on one GPU, 0.55 on each of two with NVLink, 5.7 on each of eight H200 in vLLM 0.6;
    cards without NVLink stay near 0.2 (llm-d-planner docs/empirical-vllm-memory-results.md;
    vllm-project/vllm issues 10702, 15766, pull 14447).
    """
    each = _NON_TORCH_LINK if nvlink else _NON_TORCH_PCIE
    return int((_NON_TORCH_ONE + each * min(tensor_parallel - 1, 7)) * _GIB)


def graph_bytes(
    architecture: Architecture, engine: EngineMemory, *, tensor_parallel: int = 1
) -> int:
    """Return the bytes of captured CUDA graphs: 0.018 GiB a layer, twice that between GPUs.

    0.76 GiB for 28 layers, 2.65 for 80 and 4.95 for 126 on four GPUs (vllm-project/vllm issues
    15360, 16570, 16259); the median of 46 logs is 0.5. vLLM before 0.21 captures them after it has
    granted the cache, outside of its utilisation.
    """
    if not engine.graphs or engine.engine != "vllm":
        return 0
    return int(_GRAPH * architecture.layers * min(tensor_parallel, 2))
