"""Logged figures of vLLM: weights on a GPU, and the tokens that its cache was granted."""

from _sizing_rows import (
    GIB,
    RULE_OF_THUMB,
    CannotSizeError,
    Row,
    Sized,
    Subject,
    gpu_of,
    number,
    subject_of,
)
from msgspec.structs import replace

from warmfleet.catalog.gpu import Gpu
from warmfleet.sizing.engine_memory import EngineMemory
from warmfleet.sizing.fit import Layout, fit
from warmfleet.sizing.kv_cache import kv_bytes_per_token
from warmfleet.sizing.vllm_settings import parse_version, vllm_memory
from warmfleet.sizing.weights import stage_weights_bytes

_SMALLEST_SHARE = 0.1
_COUNTS_WINDOWS = (0, 20)
"""Until then the logged tokens are as if every layer kept all (vllm-project/vllm pull 40694)."""
_RECURRENT = {"jamba", "qwen3_next", "mamba", "falcon_mamba"}


def weights(row: Row) -> Sized | None:
    """Weights as the first rank logs them."""
    truth = number(row, "weights_gib")
    if truth is None:
        return None
    subject = subject_of(row["model"], row["quantization"])
    tensor, pipeline = _parallel(row)
    first, *_ = stage_weights_bytes(
        subject.model.architecture,
        subject.precision,
        tensor_parallel=tensor,
        pipeline_parallel=pipeline,
        engine="vllm",
    )
    naive = _naive_weights(row, subject) / GIB
    return Sized(
        "weights", subject.group, row["model"], truth, first / GIB, naive, naive * RULE_OF_THUMB
    )


def kv_tokens(row: Row) -> Sized | None:
    """Tokens in what the utilisation leaves for the cache; nothing that was logged is used."""
    logged_tokens, logged_gib = number(row, "kv_tokens"), number(row, "kv_cache_gib")
    if logged_tokens is None and logged_gib is None:
        return None
    subject = subject_of(row["model"], row["quantization"])
    shape = subject.model.architecture
    if shape.family in _RECURRENT:
        msg = "keeps recurrent state beside the cache"
        raise CannotSizeError(msg)
    gpu, engine, length = _settings(row, shape.max_context)
    tensor, pipeline = _parallel(row)
    found = fit(
        shape,
        subject.precision,
        Layout(gpu, tensor, pipeline),
        replace(engine, graphs=False),  # captured after the cache is granted
        context=length,
        concurrency=1,
    )
    if found.kv_room < _SMALLEST_SHARE * found.total:
        msg = "pool under a tenth of the card: what is left of two large numbers"
        raise CannotSizeError(msg)
    token = kv_bytes_per_token(
        shape, kv_dtype=engine.kv_dtype, tensor_parallel=tensor, latent=engine.latent
    )
    token /= pipeline
    tokens = found.kv_room / token
    if shape.windowed_layers and _version(row) >= _COUNTS_WINDOWS:
        tokens = found.kv_capacity_tokens
    naive_token = kv_bytes_per_token(shape, latent=False) / tensor / pipeline
    naive_weights = _naive_weights(row, subject)
    return Sized(
        "kv_tokens",
        subject.group,
        row["model"],
        logged_tokens or (logged_gib or 0) * GIB / token,
        tokens,
        (found.budget - naive_weights) / naive_token,
        (found.budget - naive_weights * RULE_OF_THUMB) / naive_token,
    )


def _settings(row: Row, longest: int) -> tuple[Gpu, EngineMemory, int]:
    """Return card, settings and length of a row.

    Raises:
        CannotSizeError: the row does not say what they follow from.
    """
    utilisation, version = number(row, "gpu_memory_utilization"), _version(row)
    if utilisation is None:
        msg = "utilisation not stated"
        raise CannotSizeError(msg)
    if "unsloth" in (row["source"] + row["notes"]).lower():
        msg = "a patched engine, whose batch the caller sets"
        raise CannotSizeError(msg)
    total = number(row, "total_gpu_gib")
    gpu = gpu_of(row["gpu"], total_gib=total)
    length = int(number(row, "max_model_len") or longest)
    amd = gpu.vendor == "AMD"
    engine = vllm_memory(
        version,
        total_gib=gpu.cuda_total_gib,
        max_model_len=length,
        capability=None if amd or gpu.compute_capability is None else float(gpu.compute_capability),
        a100="A100" in gpu.name,
        rocm=amd,
        utilisation=utilisation,
        kv_dtype="fp8" if row["kv_dtype"].startswith("fp8") else "auto",
    )
    return gpu, engine, length


def _version(row: Row) -> tuple[int, int]:
    """Return the engine's version.

    Raises:
        CannotSizeError: the row does not say it.
    """
    version = parse_version(row["vllm_version"])
    if version is None:
        msg = "engine's version not stated"
        raise CannotSizeError(msg)
    return version


def _parallel(row: Row) -> tuple[int, int]:
    tensor, pipeline = number(row, "tensor_parallel"), number(row, "pipeline_parallel")
    return max(1, int(tensor or 1)), max(1, int(pipeline or 1))


def _naive_weights(row: Row, subject: Subject) -> float:
    tensor, pipeline = _parallel(row)
    return subject.naive_bytes / tensor / pipeline
