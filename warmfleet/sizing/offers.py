"""Which cards can serve a model, how many each needs, and which of them to rent."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from warmfleet.catalog.gpu import Gpu
from warmfleet.sizing.capability import incapability
from warmfleet.sizing.card_speed import card_speed
from warmfleet.sizing.deployment import Promise, Shortfall, deploy
from warmfleet.sizing.fit import Fit, Layout, fit
from warmfleet.sizing.offer import Asked, Offer, Offers, Refused
from warmfleet.sizing.roofline import Roofline
from warmfleet.sizing.software import unsupported
from warmfleet.sizing.work import Work, work_of

__all__ = ["COUNTS", "offers"]

COUNTS = (1, 2, 4, 8)
"""Tensor parallel over the cards of one host: what servers come with."""

_GIB = 2**30


def offers(
    asked: Asked,
    gpus: Iterable[Gpu],
    *,
    counts: Sequence[int] = COUNTS,
    rents: Mapping[str, float] | None = None,
) -> Offers:
    """Weigh all cards.

    First the memory: weights, one request of the whole context, and the typical requests of the
    busiest second must fit. Then bandwidth and compute: the speed of an answer and the time to
    the first token must be kept by some number of replicas. What is left is ranked: comfortable
    before tight, of the tight the largest, then by rent where the price of it is known. Where it
    is not, by what rents follow: the least memory over all cards, the fewest cards, boards for
    games before those for data centres of the same memory (they cost a fraction; general
    knowledge), the least bandwidth that does, the least compute.

    Args:
        asked: the model with its load.
        gpus: cards that can be rented.
        counts: cards of one host that a replica may take.
        rents: of one card, by its id.
    """
    works: dict[str, Work] = {}
    ranked: list[Offer] = []
    refused: list[Refused] = []
    for gpu in gpus:
        if (reason := _unable(asked, gpu)) is not None:
            refused.append(Refused(Layout(gpu, counts[0]), reason))
            continue
        cached = asked.engine(gpu).kv_dtype
        if cached not in works:
            works[cached] = work_of(asked.architecture, asked.precision, kv_dtype=cached)
        best: Offer | None = None
        for count in counts:
            found = _weigh(asked, works[cached], Layout(gpu, count), (rents or {}).get(gpu.id))
            if isinstance(found, Refused):
                refused.append(found)
                continue
            best = found if best is None else min(best, found, key=_rank)
            if best.deployment.replicas.carry == 1 and best.comfortable:
                break  # more cards a replica make it no fewer
        if best is not None:
            ranked.append(best)
    return Offers(tuple(sorted(ranked, key=_rank)), tuple(refused))


def _rank(offer: Offer) -> tuple[float, ...]:
    gpu = offer.layout.gpu
    rent = offer.rent
    return (
        not offer.comfortable,
        0.0 if offer.comfortable else -float(offer.layout.count * gpu.memory_gb),
        rent is None,
        rent or 0.0,
        offer.memory_gb,
        offer.cards,
        "GeForce" not in gpu.name,
        gpu.bandwidth_gb_s or 0.0,
        gpu.fp16_tflops or 0.0,
        offer.layout.count,
    )


def _unable(asked: Asked, gpu: Gpu) -> str | None:
    """Return why no number of these cards would do."""
    if card_speed(gpu, asked.precision) is None:
        return "its bandwidth or operations a second are not known"
    engine = asked.engine(gpu).engine
    return incapability(gpu, asked.precision, engine) or unsupported(gpu, engine)


def _weigh(asked: Asked, work: Work, layout: Layout, rent: float | None) -> Offer | Refused:
    gpu, count = layout.gpu, layout.tensor_parallel
    speed = card_speed(gpu, asked.precision)
    reason = _indivisible(asked, layout)
    if reason is not None or speed is None:
        return Refused(layout, reason or "")
    engine = replace(asked.engine(gpu), pooling=asked.reads_only)

    def sized(context: int, concurrency: int) -> Fit:
        return fit(
            asked.architecture, asked.precision, layout, engine,
            context=context, concurrency=concurrency,
        )  # fmt: skip

    full = sized(asked.context, 1)
    if full.verdict != "fits":
        return Refused(layout, _short_of_memory(full), full.missing)
    typical = asked.typical(engine)
    streams = min(engine.max_num_seqs, sized(typical, 1).largest_concurrency)
    roofline = Roofline(work, speed, tensor_parallel=count)
    found = deploy(asked.demands, roofline, streams=streams, promise=asked.promise)
    if isinstance(found, Shortfall):
        return Refused(layout, _short_of_speed(found, asked.promise))
    at_peak = min(streams, max(1, math.ceil(found.service.in_flight * asked.peak)))
    held = sized(typical, at_peak)
    return Offer(layout, engine, full, held, streams, roofline, found, rent)


def _indivisible(asked: Asked, layout: Layout) -> str | None:
    """Return why so many of these cards do not come together."""
    gpu, count = layout.gpu, layout.tensor_parallel
    if asked.architecture.heads % count:
        return f"{asked.architecture.heads} heads cannot be divided over {count} cards"
    if gpu.form == "module" and count > 1:
        return "comes one to a host"
    board = re.search(r"\((\d+) GPUs\)", gpu.form)
    if board is not None and count % int(board[1]):
        return f"comes as {board[1]} on a board"
    return None


def _short_of_memory(found: Fit) -> str:
    """Say by how much the memory of each card falls short, and which of the two cases it is."""
    before = found.weights + found.activation + found.non_torch
    weights = (
        f"{_gib(found.weights)} of weights and {_gib(found.activation + found.non_torch)} of the "
        f"engine beside them"
    )
    if found.verdict == "weights_do_not_fit":
        return (
            # What the utilisation leaves, or less where the graphs beside it are larger.
            f"{weights} need {_gib(before)}, and the engine may have "
            f"{_gib(before + found.kv_room)}: {_gib(found.missing)} missing with {_gib(found.kv)} "
            "of cache for one request"
        )
    return (
        f"{weights} leave {_gib(found.kv_room)}, and one request of {found.context} tokens needs "
        f"{_gib(found.kv)}: {_gib(found.missing)} missing; nearest: a context of "
        f"{found.largest_context}"
    )


def _short_of_speed(found: Shortfall, promise: Promise) -> str:
    """Say by how much an idle replica falls short, and of what."""
    seen = found.service
    if found.stream_short_tokens_per_s:
        return (
            f"bandwidth: one answer alone comes at {seen.stream_tokens_per_s:.1f} tokens/s of "
            f"{promise.stream_tokens_per_s:g} ({found.stream_short_tokens_per_s:.1f} too slow)"
        )
    return (
        f"compute: the first token comes after {seen.ttft_p95_s:.3f} s on an idle replica, "
        f"{found.ttft_short_s * 1e3:.0f} ms later than {promise.ttft_p95_s:g} s"
    )


def _gib(count: int) -> str:
    return f"{count / _GIB:.1f} GiB"
