"""How few bits a task may have, and what fewer were seen to cost."""

import math
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from warmfleet.catalog.quality import QualityLoss, quality_losses
from warmfleet.errors import PlanRefusedError
from warmfleet.sizing.precision import Precision

__all__ = [
    "GUARDED_TASKS",
    "PrecisionChoice",
    "choose_precision",
    "loses",
    "quoted",
    "weight_bits",
]

GUARDED_TASKS: Final = ("math", "extraction", "instructions")
"""Where published losses at 4 bit are largest and a wrong character is a wrong answer."""

_GUARDED_BELOW = 8.0
_QUOTED = 3

_EVIDENCE: Final = {
    "math": ("math",),
    "extraction": ("extraction", "instructions"),
    "instructions": ("instructions",),
    "chat": ("chat", "instructions"),
    "code": ("code",),
    "embedding": ("embedding",),
}
"""Findings that say something of a task; of summaries and classification none were found."""


class PrecisionChoice(Struct, frozen=True):
    """A number format for the weights."""

    precision: Precision
    reason: str
    losses: tuple[QualityLoss, ...]


def choose_precision(
    task: str,
    offered: Sequence[Precision],
    too_large: Callable[[Precision], str | None],
    *,
    published: Precision,
    parameters: int,
    accept_quality_loss: bool,
) -> PrecisionChoice:
    """Take the highest precision that fits.

    Args:
        task: what the model is used for.
        offered: formats that the source or the engine can give; of equal bits the first wins.
        too_large: why a format does not fit, None where it does; asked from the highest down.
        published: the format that the model's authors published: it loses nothing.
        parameters: of the model; findings of models near its size are quoted first.
        accept_quality_loss: the user accepts less than 8 bit for a task that needs them.

    Raises:
        PlanRefusedError: nothing fits, or only what the task needs a consent for.
    """
    passed: list[str] = []
    for precision in sorted(offered, key=weight_bits, reverse=True):
        if (reason := too_large(precision)) is not None:
            passed.append(f"{precision.id} does not fit ({reason})")
            continue
        if not accept_quality_loss and loses(task, precision, published):
            said = "; ".join([*passed, f"{precision.id} fits"])
            msg = f"precision: {said}, but {_consent(task, precision, parameters)}"
            raise PlanRefusedError(msg)
        found = () if precision == published else quoted(task, precision, parameters)
        return PrecisionChoice(precision, _reason(task, precision, published, passed, found), found)
    msg = f"precision: {'; '.join(passed)}; nearest: a larger card, or more of them"
    raise PlanRefusedError(msg)


def loses(task: str, precision: Precision, published: Precision) -> bool:
    """Is this format so low that the task needs the user's consent to it?"""
    lower = weight_bits(precision) < min(_GUARDED_BELOW, weight_bits(published))
    return task in GUARDED_TASKS and lower


def quoted(task: str, precision: Precision, parameters: int) -> tuple[QualityLoss, ...]:
    """Return what was published of this task at this many bits, models of like size first."""
    bits = 8 if weight_bits(precision) >= _GUARDED_BELOW else 4
    if weight_bits(precision) >= 2 * _GUARDED_BELOW:
        return ()
    topics = _EVIDENCE.get(task, ())
    rows = [row for row in quality_losses() if row.task in topics and row.bits == bits]

    def far(row: QualityLoss) -> tuple[int, float, bool]:
        size = abs(math.log(row.parameters / parameters))
        return topics.index(row.task), size, row.method != precision.id

    return tuple(sorted(rows, key=far)[:_QUOTED])


def weight_bits(precision: Precision) -> float:
    """Return the bits of most of a model's weights: those of experts where they have their own."""
    return min(precision.linear_bits, precision.expert_bits or precision.linear_bits)


def _reason(
    task: str,
    precision: Precision,
    published: Precision,
    passed: list[str],
    found: tuple[QualityLoss, ...],
) -> str:
    highest = "; ".join([*passed, "the next highest fits"]) if passed else "the highest that fits"
    if precision == published:
        return f"{highest}: as published, nothing is lost"
    if weight_bits(precision) >= 2 * _GUARDED_BELOW:
        return highest
    return f"{highest}; {_seen(task, found)}"


def _seen(task: str, found: tuple[QualityLoss, ...]) -> str:
    if not found:
        return f"no published loss was found for {task}: try it on your own inputs"
    return f"published: {', '.join(map(str, found))}"


def _consent(task: str, precision: Precision, parameters: int) -> str:
    return (
        f"below 8 bit {task} needs consent ({_seen(task, quoted(task, precision, parameters))}); "
        "nearest: accept_quality_loss: true, or a card on which 8 bit fits"
    )
