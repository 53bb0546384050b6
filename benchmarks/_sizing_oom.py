"""Settings that fitted on a card, or did not."""

import re

from _sizing_rows import (
    GIB,
    RULE_OF_THUMB,
    CannotSizeError,
    Row,
    Sized,
    gpu_of,
    number,
    subject_of,
)
from msgspec.structs import replace

from warmfleet.sizing.engine_memory import EngineMemory
from warmfleet.sizing.fit import Layout, fit
from warmfleet.sizing.kv_cache import kv_bytes
from warmfleet.sizing.vllm_settings import parse_version, vllm_memory

_DEFAULT_LENGTH = 4096
_NEWEST = (0, 10)


def fits(row: Row) -> Sized | None:
    """1 where the setting starts with room for one request of its full length, 0 where not."""
    if row["fit"] not in {"yes", "no"}:
        msg = "neither yes nor no"
        raise CannotSizeError(msg)
    subject = subject_of(row["model"], row["quantization"])
    shape = subject.model.architecture
    gpu = gpu_of(row["gpu"])
    tensor = int(number(row, "tensor_parallel") or 1)
    cards = int(number(row, "gpu_count") or tensor)
    stated = re.match(r"\d+", row["max_model_len"])
    length = int(stated.group()) if stated else shape.max_context
    llamacpp = any(name in row["engine"] for name in ("llama.cpp", "ollama"))
    if not llamacpp and "vLLM" not in row["engine"]:
        msg = "engine not modelled"
        raise CannotSizeError(msg)
    if not row["gpu_count"]:
        msg = "number of cards not stated"
        raise CannotSizeError(msg)
    if llamacpp:
        engine = EngineMemory(
            engine="llamacpp", utilisation=1.0, max_batched_tokens=512, flash_attention=False
        )
        layout = Layout(gpu, 1, cards)
    else:
        capability = gpu.compute_capability if gpu.vendor == "NVIDIA" else None
        engine = vllm_memory(
            parse_version(row["engine"]) or _NEWEST,
            total_gib=gpu.cuda_total_gib,
            max_model_len=length,
            capability=float(capability) if capability else None,
            a100="A100" in gpu.name,
            rocm=gpu.vendor == "AMD",
            utilisation=number(row, "gpu_memory_utilization") or 0.9,
        )
        if stated := re.search(r"max_num_seqs (\d+)", row["detail"]):
            engine = replace(engine, max_num_seqs=int(stated[1]))
        layout = Layout(gpu, tensor, max(1, cards // tensor))
    found = fit(shape, subject.precision, layout, engine, context=length, concurrency=1)
    memory = gpu.memory_gb * GIB * cards
    cache = kv_bytes(shape, length, windows=False, latent=False)
    return Sized(
        "oom",
        "yes" if row["fit"] == "yes" else "no",
        row["model"],
        float(row["fit"] == "yes"),
        float(found.verdict == "fits"),
        float(subject.naive_bytes + cache <= memory),
        float(subject.naive_bytes * RULE_OF_THUMB <= memory),
    )
