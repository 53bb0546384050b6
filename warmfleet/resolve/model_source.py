"""Facts of one model, from wherever the spec says that its weights are."""

from collections.abc import Sequence
from pathlib import Path

from warmfleet.catalog.models import Catalog
from warmfleet.errors import SpecError
from warmfleet.resolve.catalog_facts import model_facts, packaged
from warmfleet.resolve.local import local_facts
from warmfleet.resolve.model_facts import ModelFacts
from warmfleet.spec.sources import HubSourceSpec, PackageSourceSpec, PathSourceSpec, SourceSpec

__all__ = ["resolve_model"]


def resolve_model(
    at: str,
    source: SourceSpec,
    catalog: Catalog,
    *,
    root: Path,
    known: Sequence[ModelFacts],
    refresh: bool,
) -> ModelFacts:
    """Return the facts of a source, whose place in the spec is ``at``; the rest as ``resolve``.

    A package and a path are looked up each time. Elsewhere the order is: the lock, the catalog, the
    source itself; when asked to refresh: the source, and the catalog if it cannot be reached.

    Raises:
        SpecError: unknown or unreadable.
    """
    if isinstance(source, PackageSourceSpec):
        return packaged(at, source, catalog)
    if isinstance(source, PathSourceSpec):
        return local_facts(at, source, catalog, root)
    if not refresh:
        for facts in known:
            if facts.source == source:
                return facts
    if isinstance(source, HubSourceSpec) and (found := model_facts(source)):
        return found
    msg = f"{at}: found weights elsewhere; needed a package or a path, which can be read"
    raise SpecError(msg)
