"""Round-trip times that the user measured, from a CSV file."""

from collections.abc import Collection, Sequence
from pathlib import Path
from statistics import median

from inference_app.problems import nearest
from warmfleet.catalog.models import Catalog, ProbedPath
from warmfleet.errors import SpecError
from warmfleet.resolve.csv_table import read_csv
from warmfleet.resolve.places import find_place
from warmfleet.resolve.probe_facts import ProbedRtt, ProbeFacts

__all__ = ["resolve_probes"]

_NEEDED = ("place", "region", "rtt_ms")
_COLUMNS = (*_NEEDED, "carrier")

_MOST_MS = 10_000.0
"""No path on the globe takes as long; microseconds would."""


def resolve_probes(
    named: str, catalog: Catalog, *, root: Path, known: ProbeFacts | None, refresh: bool
) -> ProbeFacts:
    """Return the median of each path.

    Args:
        named: The file.
        catalog: What places, regions and carriers there are.
        root: Where a relative path starts.
        known: Probes of the lock: they hold where the file itself is not there, since not everybody
            who plans again has it.
        refresh: Do without the lock's.

    Raises:
        SpecError: the first thing that is wrong in the file, with its line.
    """
    path = root / named
    if known is not None and known.path == named and not refresh and not path.exists():
        return known
    at = f"network.probes: {named}"
    table = read_csv(at, path, needed="one for each time that was measured")
    _check_columns(at, table.columns)
    found: dict[ProbedPath, list[float]] = {}
    for line, row in table.rows:
        probed = _path(f"{at} line {line}", row, catalog)
        found.setdefault(probed, []).append(_ms(f"{at} line {line}", row["rtt_ms"]))
    if not found:
        msg = f"{at}: found no row; needed at least one time that was measured"
        raise SpecError(msg)
    ranked = sorted(found.items(), key=lambda item: tuple(name or "" for name in item[0]))
    return ProbeFacts(
        path=named,
        sha256=table.sha256,
        rows=len(table.rows),
        paths=tuple(
            ProbedRtt(place=place, region=region, carrier=carrier, rtt_ms=round(median(times), 3))
            for (place, region, carrier), times in ranked
        ),
    )


def _check_columns(at: str, found: Sequence[str]) -> None:
    needed = f"needed {', '.join(_NEEDED)}, and carrier if a row is of one alone"
    unknown = [name for name in found if name not in _COLUMNS]
    if set(_NEEDED) <= set(found) and not unknown and len(set(found)) == len(found):
        return
    hint = next((said for name in unknown if (said := nearest(name, _COLUMNS))), "")
    msg = f"{at} line 1: found the columns {', '.join(found) or 'none'}; {needed}{hint}"
    raise SpecError(msg)


def _path(at: str, row: dict[str, str], catalog: Catalog) -> ProbedPath:
    place = find_place(f"{at}: place", row["place"], catalog)
    codes = {code: region.id for region in catalog.regions for code in region.codes.values()}
    region = _known(
        f"{at}: region", row["region"], [region.id for region in catalog.regions], codes
    )
    if not (said := row.get("carrier", "")):
        return place.id, region, None
    names = {carrier.name: carrier.id for carrier in catalog.carriers}
    carrier = _known(f"{at}: carrier", said, [carrier.id for carrier in catalog.carriers], names)
    if not place.mainland:
        msg = (
            f"{at}: carrier: found {said!r} for users in {place.id}; needed none: carriers are "
            "told apart in the mainland of China alone"
        )
        raise SpecError(msg)
    return place.id, region, carrier


def _known(at: str, found: str, ids: Collection[str], other_names: dict[str, str]) -> str:
    if found in ids:
        return found
    hint = nearest(found, ids) or f"; needed one of {', '.join(ids)}"
    if found in other_names:
        hint = f"; did you mean {other_names[found]!r}?"
    msg = f"{at}: found {found!r}, which the catalog does not know{hint}"
    raise SpecError(msg)


def _ms(at: str, text: str) -> float:
    try:
        ms = float(text)
    except ValueError:
        ms = -1.0
    if not 0 < ms <= _MOST_MS:
        msg = (
            f"{at}: rtt_ms: found {text!r}; needed milliseconds as a number, more than 0 and at "
            f"most {_MOST_MS:g}"
        )
        raise SpecError(msg)
    return ms
