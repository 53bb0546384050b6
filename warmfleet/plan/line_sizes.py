"""How much of a line is ordered: rates on the sizes that are sold, over as many ports as needed."""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Self

from msgspec import Struct

from warmfleet.catalog.lines import Line
from warmfleet.catalog.wire import Peaks
from warmfleet.errors import PlanRefusedError
from warmfleet.plan.line_paths import Path, best_line
from warmfleet.plan.models import LinePart

__all__ = ["Rates", "line_parts", "line_shares"]


class Rates(Struct, frozen=True):
    """What a site needs, in Mbps."""

    peak: float
    """Of the busiest minute: the larger of the two directions."""
    pull: float
    """So that new weights arrive in the asked window; 0: none is asked."""
    committed: float
    burst: float

    @classmethod
    def of(cls, peak: float, pull: float, peaks: Peaks) -> Self:
        """Return what a load needs; weights come off peak, so the larger of the two counts."""
        minute = peak * peaks.headroom
        return cls(peak, pull, max(minute, pull), max(minute * peaks.second_to_minute, pull))


def line_shares(lines: Sequence[Line], found: Sequence[Path]) -> dict[str, float]:
    """Return the share of the load on each line: each user takes the one of the own carrier."""
    shares = dict.fromkeys((line.id for line in lines), 0.0)
    for path in found:
        line = lines[0] if path.carrier is None else best_line(lines, path.carrier)
        shares[line.id] += path.weight
    return shares


def line_parts(lines: Sequence[Line], shares: Mapping[str, float], rates: Rates) -> list[LinePart]:
    """Return what is ordered of each line.

    Raises:
        PlanRefusedError: more than all ports carry; the missing rate is named.
    """
    parts = []
    for line in lines:
        share = shares[line.id]
        _must_carry(line, rates, share)
        committed = _size(line, rates.committed * share)
        burst = _size(line, rates.burst * share)
        ports = math.ceil(burst / _largest(line))
        parts.append(
            LinePart(
                line=line.id,
                carriers=list(line.carriers),
                committed_mbps=committed,
                burst_mbps=burst,
                ports=ports,
            )
        )
    return parts


def _must_carry(line: Line, rates: Rates, share: float) -> None:
    """Refuse what all ports do not carry, and name what they would."""
    most = _largest(line) * line.ports
    if _wanted(rates.burst * share) <= most:  # never less than the committed rate
        return
    if rates.pull * share > most:
        field, found = "network.weights_window: new weights need", rates.pull * share
        longer = math.ceil(found / most * 10) / 10
        nearest = f"a window {longer:g} times as long, or network.weights_over: private"
    else:
        committed = rates.committed * share > most
        found = (rates.committed if committed else rates.burst) * share
        field = f"traffic.callers: the {'committed' if committed else 'burst'} rate is"
        # By the burst rate, whatever is said of the other: it must fit in, too.
        percent = most / (rates.burst * share) * 100
        digits = 10 if percent >= 1 else 10**6
        nearest = f"{math.floor(percent * digits) / digits:g}% of this load, or more sites"
    msg = (
        f"{field} {found:.0f} Mbps, but a site has at most {line.ports} ports of {_largest(line)} "
        f"Mbps of {line.name} ({found - most:.0f} Mbps missing); nearest: {nearest}"
    )
    raise PlanRefusedError(msg)


def _size(line: Line, wanted_mbps: float) -> int:
    wanted, largest = _wanted(wanted_mbps), _largest(line)
    for step in line.steps:
        if step.mbps >= wanted:
            return int(step.mbps)
    return math.ceil(wanted / largest) * largest


def _wanted(mbps: float) -> Decimal:
    # Rounded before it is compared: 160.00000000000003 must not need the size above 160.
    return Decimal(str(round(mbps, 9)))


def _largest(line: Line) -> int:
    return int(line.steps[-1].mbps)
