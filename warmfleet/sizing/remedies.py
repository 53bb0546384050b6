"""What would make a model and its load fit where it does not."""

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from warmfleet.catalog.architecture import Architecture
from warmfleet.catalog.gpu import Gpu, gpus
from warmfleet.sizing.capability import incapability
from warmfleet.sizing.engine_memory import EngineMemory
from warmfleet.sizing.fit import Fit, Layout, fit
from warmfleet.sizing.precision import Precision, find_precision
from warmfleet.sizing.quality import weight_bits
from warmfleet.sizing.software import unsupported

__all__ = ["Question", "divides", "other_formats", "remedies"]

_LOWER: Final = {"vllm": ("fp8", "awq"), "llamacpp": ("q8_0", "q6_k", "q4_k_m")}
_COUNTS: Final = (2, 4, 8)
_SEQUENCES: Final = (512, 256, 128, 64, 32, 16)
_BIT_LESS = 1.0


class Question(Struct, frozen=True):
    """Does this model with this load fit on these cards?"""

    architecture: Architecture
    precision: Precision
    layout: Layout
    engine: Callable[[Gpu], EngineMemory]
    """Settings of the engine on a card."""
    context: int
    concurrency: int

    def answer(self) -> Fit:
        """Work it out."""
        return fit(
            self.architecture,
            self.precision,
            self.layout,
            self.engine(self.layout.gpu),
            context=self.context,
            concurrency=self.concurrency,
        )


def remedies(question: Question) -> list[str]:
    """Return what would fit, each the least change of its kind; nothing where it fits.

    Too large weights need fewer bits, more cards or a larger one, or an engine that reserves for
    fewer sequences; too large a batch needs fewer requests, shorter ones or a larger card.
    """
    found = question.answer()
    if found.verdict == "fits":
        return []
    if found.verdict == "weights_do_not_fit":
        return [
            *_fewer_sequences(question),
            *_fewer_bits(question),
            *_more_cards(question),
            *_larger_card(question),
        ]
    return [*_smaller_batch(found), *_larger_card(question)]


def other_formats(
    question: Question, settings: Callable[[Precision], Callable[[Gpu], EngineMemory]]
) -> list[str]:
    """Return the format of most bits of each engine that the card can compute with and holds.

    Args:
        question: what was asked.
        settings: of the engine that takes a format, on a card.
    """
    found = []
    for kinds in (("bf16", *_LOWER["vllm"]), _LOWER["llamacpp"]):
        for precision in map(find_precision, kinds):
            asked = replace(question, precision=precision, engine=settings(precision))
            if _fits(asked):
                found.append(f"precision {precision.id}")
                break
    return found


def divides(architecture: Architecture, tensor_parallel: int) -> bool:
    """Can so many cards share each layer? Heads are not cut, and KV heads are cut or repeated."""
    heads, kv_heads = architecture.heads, architecture.kv_heads
    shared = kv_heads % tensor_parallel == 0 or tensor_parallel % kv_heads == 0
    return heads % tensor_parallel == 0 and (shared or architecture.latent is not None)


def _fits(question: Question) -> bool:
    gpu = question.layout.gpu
    engine = question.engine(gpu).engine
    able = incapability(gpu, question.precision, engine) is None
    return able and question.answer().verdict == "fits"


def _fewer_sequences(question: Question) -> Iterator[str]:
    usual = question.engine(question.layout.gpu)
    for sequences in _SEQUENCES:
        if not question.concurrency <= sequences < usual.max_num_seqs:
            continue
        if _fits(replace(question, engine=_always(replace(usual, max_num_seqs=sequences)))):
            yield f"max_num_seqs {sequences} instead of {usual.max_num_seqs}"
            return


def _always(engine: EngineMemory) -> Callable[[Gpu], EngineMemory]:
    return lambda _: engine


def _fewer_bits(question: Question) -> Iterator[str]:
    kinds = _LOWER[question.engine(question.layout.gpu).engine]
    for precision in map(find_precision, kinds):
        if weight_bits(precision) > weight_bits(question.precision) - _BIT_LESS:
            continue
        if _fits(replace(question, precision=precision)):
            yield f"precision {precision.id}"
            return


def _more_cards(question: Question) -> Iterator[str]:
    gpu = question.layout.gpu
    for count in _COUNTS:
        if count <= question.layout.count or not divides(question.architecture, count):
            continue
        if _fits(replace(question, layout=Layout(gpu, count))):
            yield f"{count} x {gpu.name}"
            return


def _larger_card(question: Question) -> Iterator[str]:
    layout = question.layout
    larger = [
        gpu
        for gpu in gpus()
        if gpu.cuda_total_gib > layout.gpu.cuda_total_gib
        and unsupported(gpu, question.engine(gpu).engine) is None
    ]
    for gpu in sorted(larger, key=lambda gpu: gpu.cuda_total_gib):
        if _fits(replace(question, layout=replace(layout, gpu=gpu))):
            many = f"{layout.count} x " if layout.count > 1 else ""
            yield f"{many}{gpu.name} ({gpu.memory_gb} GB)"
            return


def _smaller_batch(found: Fit) -> Iterator[str]:
    if found.largest_concurrency:
        yield f"{found.largest_concurrency} requests of {found.context} tokens"
    if found.largest_context:
        yield f"{found.concurrency} requests of {found.largest_context} tokens"
