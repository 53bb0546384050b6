"""Memory of a model on a card as a table, and as a document."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import asdict
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from warmfleet.catalog.gpu import Gpu
from warmfleet.catalog.models import Model
from warmfleet.sizing.engine_memory import EngineMemory
from warmfleet.sizing.fit import Fit
from warmfleet.sizing.kv_cache import kv_bytes_per_token
from warmfleet.sizing.precision import Precision
from warmfleet.sizing.remedies import Question
from warmfleet.sizing.software import unsupported
from warmfleet.sizing.vllm_settings import vllm_memory

__all__ = ["ENGINE_NAMES", "document", "print_size", "refusal", "settings_of"]

_GIB = 2**30
_ASSUMED_VLLM = (0, 11)
_LLAMACPP_BATCH = 512
ENGINE_NAMES = {"vllm": "vLLM", "llamacpp": "llama.cpp"}


def settings_of(
    precision: Precision, context: int, kv_dtype: str, concurrency: int
) -> Callable[[Gpu], EngineMemory]:
    """Return what decides on an engine's settings on a card: llama.cpp's for GGUF, else vLLM's."""
    if precision.gguf:
        engine = EngineMemory(
            engine="llamacpp",
            utilisation=1.0,
            max_num_seqs=concurrency,
            max_batched_tokens=_LLAMACPP_BATCH,
            kv_dtype=kv_dtype,
        )
        return lambda _gpu: engine

    def settings(gpu: Gpu) -> EngineMemory:
        nvidia = gpu.vendor == "NVIDIA" and gpu.compute_capability is not None
        return vllm_memory(
            _ASSUMED_VLLM,
            total_gib=gpu.cuda_total_gib,
            max_model_len=context,
            capability=float(gpu.compute_capability or 0) if nvidia else None,
            a100="A100" in gpu.name,
            rocm=gpu.vendor == "AMD",
            kv_dtype=kv_dtype,
        )

    return settings


def print_size(console: Console, model: Model, question: Question, answer: Fit) -> None:
    """Print each part of a card's memory with its reason, then the most that fits."""
    console.print(f"{escape(model.id)} in {question.precision.id} on {_cards(question)}")
    table = Table(box=None, pad_edge=False)
    table.add_column("one card")
    table.add_column("GiB", justify="right")
    table.add_column("because")
    for name, size, reason in _rows(question, answer):
        table.add_row(name, f"{size / _GIB:.2f}", escape(reason))
    console.print(table)
    if answer.verdict != "weights_do_not_fit":
        console.print(
            f"largest: {answer.largest_concurrency} requests of {answer.context} tokens, or "
            f"{answer.concurrency} of {answer.largest_context}"
        )
    if (note := _software(question)) is not None:
        console.print(f"note: {escape(note)}; the memory is that of an older version")


def document(model: Model, question: Question, answer: Fit, nearest: list[str]) -> dict[str, Any]:
    """Return everything for machines; sizes are bytes of one card."""
    return {
        "model": model.id,
        "precision": question.precision.id,
        "gpu": question.layout.gpu.id,
        "tensor_parallel": question.layout.tensor_parallel,
        "pipeline_parallel": question.layout.pipeline_parallel,
        "engine": question.engine(question.layout.gpu).engine,
        "verdict": answer.verdict,
        **asdict(answer),
        "headroom": answer.headroom,
        "missing": answer.missing,
        "nearest": nearest,
        "note": _software(question),
        "sources": {
            "model": model.source,
            "gpu": question.layout.gpu.source,
            "precision": question.precision.source,
        },
    }


def refusal(model: Model, question: Question, answer: Fit, nearest: list[str]) -> str:
    """Return what does not fit, by how much, and what would."""
    missing = f"{answer.missing / _GIB:.2f} GiB missing on each"
    if answer.verdict == "weights_do_not_fit":
        what = f"the weights do not fit on {_cards(question)}"
    else:
        what = (
            f"the weights fit, but not {answer.concurrency} requests of {answer.context} tokens "
            f"on {_cards(question)}"
        )
    would = " or ".join(nearest) or "nothing in the catalog"
    return f"{model.id} in {question.precision.id}: {what}, {missing}; nearest: {would}"


def _software(question: Question) -> str | None:
    """Return why no engine that is kept up runs on the card; sizes are asked of older ones, too."""
    gpu = question.layout.gpu
    return unsupported(gpu, question.engine(gpu).engine)


def _rows(question: Question, answer: Fit) -> list[tuple[str, int, str]]:
    gpu, shape = question.layout.gpu, question.architecture
    engine = question.engine(gpu)
    shared = f", shared by {question.layout.count} cards" if question.layout.count > 1 else ""
    token = kv_bytes_per_token(
        shape, kv_dtype=engine.kv_dtype, tensor_parallel=question.layout.tensor_parallel
    )
    parameters = (shape.parameters + shape.other_parameters) / 1e9
    seen = "as CUDA reports it" if gpu.cuda_total_is == "measured" else "estimated"
    step = f"{engine.max_num_seqs} sequences, {engine.max_batched_tokens} tokens a step"
    asked = f"{answer.concurrency} x {answer.context} tokens"
    left = "of the budget" if answer.headroom >= 0 else "so much is missing"
    return [
        ("memory", answer.total, f"{seen}, of {gpu.memory_gb} GB as sold"),
        ("budget", answer.budget, f"utilisation {engine.utilisation:g}"),
        ("weights", answer.weights, f"{parameters:.2f} B in {question.precision.id}{shared}"),
        ("activations", answer.activation, f"{ENGINE_NAMES[engine.engine]}: {step}"),
        ("libraries", answer.non_torch, "CUDA, and links between cards"),
        ("graphs", answer.graphs, "CUDA graphs, outside of the budget"),
        ("cache", answer.kv, f"{asked} of {token:.0f} bytes at most"),
        ("left", answer.headroom, left),
    ]


def _cards(question: Question) -> str:
    layout = question.layout
    text = f"{layout.count} x {layout.gpu.name}"
    stages = layout.pipeline_parallel
    return f"{text} (pipeline of {stages})" if stages > 1 else text
