"""The most that a replica carries, whatever is done: arithmetic for loads beyond physics."""

import math
from collections.abc import Sequence

from msgspec import Struct

from warmfleet.sizing.demand import Demand, requests_per_s, tokens_per_s
from warmfleet.sizing.replicas import busy_replicas
from warmfleet.sizing.roofline import Roofline

__all__ = ["Ceiling", "ceiling_of", "refuse_load"]

_ANY_NUMBER = 10**9
"""Requests at a time, where memory would not bound them."""


class Ceiling(Struct, frozen=True):
    """Most answer tokens and requests a second of one replica, at the load's mixture.

    Attributes:
        requests_per_s: with as many requests at a time as its memory holds.
        tokens_per_s: the same in answer tokens.
        unbounded_requests_per_s: with any number at a time: what computing alone allows.
        unbounded_tokens_per_s: the same in answer tokens.
    """

    requests_per_s: float
    tokens_per_s: float
    unbounded_requests_per_s: float
    unbounded_tokens_per_s: float


def ceiling_of(demands: Sequence[Demand], roofline: Roofline, streams: int) -> Ceiling:
    """Return the most of this mixture that one replica carries, busy all of the time."""
    rate, tokens = requests_per_s(demands), tokens_per_s(demands)
    held = busy_replicas(demands, roofline, streams)
    unbounded = busy_replicas(demands, roofline, max(streams, _ANY_NUMBER))
    return Ceiling(rate / held, tokens / held, rate / unbounded, tokens / unbounded)


def refuse_load(
    demands: Sequence[Demand],
    roofline: Roofline,
    *,
    streams: int,
    card: str,
    most: int,
    needed: int,
    utilisation: float,
) -> str:
    """Return why a load is more than so many replicas carry, with the arithmetic.

    Args:
        demands: all load.
        roofline: speed of one replica.
        streams: requests that one replica can hold at a time.
        card: what a replica runs on, for example ``1 x GeForce RTX 4090``.
        most: replicas that there can be, without those to spare.
        needed: replicas that the load needs, with those to spare.
        utilisation: busy share of a replica at peak.
    """
    top = ceiling_of(demands, roofline, streams)
    rate, asked = requests_per_s(demands), tokens_per_s(demands)
    carried = most * utilisation * top.requests_per_s
    flops = roofline.work.token_flops(max(demand.context for demand in demands)) / 1e9
    compute = roofline.card.tflops * roofline.efficiency.compute * roofline.tensor_parallel
    each = f"{asked / rate:,.0f} tokens = {asked:,.0f} tokens/s" if asked else "prompts only"
    unit, held, any_number = (
        ("tokens/s", top.tokens_per_s, top.unbounded_tokens_per_s)
        if asked
        else ("requests/s", top.requests_per_s, top.unbounded_requests_per_s)
    )
    return (
        f"{rate:g} requests/s x {each}, but {card} gives at most {_three(held)} {unit} with the "
        f"{streams} requests that its memory holds, and {_three(any_number)} with any number "
        f"({compute:.0f} TFLOPS reached, {flops:.1f} GFLOP a token; prompts and the engine's own "
        f"{roofline.efficiency.stream_s * 1e3:g} ms a token come on top); "
        f"nearest: {needed:,} replicas, or {_three(carried)} requests/s"
    )


def _three(value: float) -> str:
    """Return three significant digits, rounded down: nothing is promised that is not there."""
    places = 2 - math.floor(math.log10(value))
    cut = math.floor(value * math.pow(10, places)) / math.pow(10, places)
    return f"{cut:,.0f}" if places <= 0 else f"{cut:g}"
