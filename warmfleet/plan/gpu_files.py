"""The files of a model's weights: their bytes on a disk, and how a replica reads them."""

from warmfleet.plan.gpu_choice import Chosen
from warmfleet.plan.gpu_vllm import quantized_while_loading
from warmfleet.sizing.load_strategy import LoadJob
from warmfleet.sizing.weights import weights_bytes

__all__ = ["files_bytes", "load_job"]


def files_bytes(chosen: Chosen) -> int:
    """Return the bytes of the files; of what an engine quantises while it loads, those in 16 bit.

    As the source lists them where it has this precision, else by arithmetic.
    """
    facts, published = chosen.wanted.facts, chosen.wanted.published
    there = published if quantized_while_loading(chosen.precision) else chosen.precision
    if there == published and facts.size_bytes is not None:
        return facts.size_bytes
    return weights_bytes(facts.architecture, there)


def load_job(chosen: Chosen, disk_gb_s: float, host_bytes: int | None = None) -> LoadJob:
    """Return what one replica reads when it starts, for ``sizing.load_strategy``."""
    layout = chosen.offer.layout
    torch = chosen.wanted.facts.format == "pytorch"
    return LoadJob(
        engine=chosen.offer.engine.engine,
        format="gguf" if chosen.precision.gguf else "pytorch" if torch else "safetensors",
        files_bytes=files_bytes(chosen),
        ranks=layout.count,
        gpu=layout.gpu,
        disk_gb_s=disk_gb_s,
        host_bytes=host_bytes,
        files=_files(chosen),
    )


def _files(chosen: Chosen) -> int | None:
    """Return how many files the source has; None where others than those are read."""
    as_published = files_bytes(chosen) == chosen.wanted.facts.size_bytes
    return len(chosen.wanted.facts.files) if as_published else None
