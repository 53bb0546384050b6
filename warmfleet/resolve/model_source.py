"""Facts of one model, from wherever the spec says that its weights are."""

from collections.abc import Sequence
from pathlib import Path

from inference_app.problems import nearest
from warmfleet.catalog.models import Catalog
from warmfleet.errors import SourceError, SpecError
from warmfleet.resolve.catalog_facts import alike, packaged, published, repositories
from warmfleet.resolve.model_facts import ModelFacts
from warmfleet.resolve.store import SourceMissingError, SourceUnreachableError
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

    A package and a path are looked up each time. Elsewhere the order is: what the lock has from the
    source, the catalog, what else the lock has, the source itself; when asked to refresh: the
    source, and the catalog if it cannot be reached.

    Raises:
        SpecError: unknown, not there or not what it should be.
        SourceError: it cannot be reached, and the catalog has no model of such a name.
    """
    if isinstance(source, PackageSourceSpec):
        return packaged(at, source, catalog)
    if isinstance(source, PathSourceSpec):
        from warmfleet.resolve.local import local_facts  # parsers: others must not wait for them

        return local_facts(at, source, catalog, root)
    if not refresh and (found := _without_asking(source, known)):
        return found
    # Its clients are slow to import, and most plans need neither.
    from warmfleet.resolve.remote import remote_facts

    try:
        return remote_facts(source)
    except SourceMissingError as error:
        needed = "needed weights with config.json, or a .gguf file by its name"
        msg = f"{at}: found no {error}; {needed}{_near(source)}"
        raise SpecError(msg) from error
    except SourceUnreachableError as error:
        if isinstance(source, HubSourceSpec) and (found := alike(source, f"not reached: {error}")):
            return found
        msg = f"{at}: {error}; needed a source that can be read (HF_TOKEN, AWS_*: who asks)"
        raise SourceError(f"{msg}{_near(source)}") from error
    except ValueError as error:
        msg = f"{at}: {error}"
        raise SpecError(msg) from error


def _without_asking(source: SourceSpec, known: Sequence[ModelFacts]) -> ModelFacts | None:
    locked = next((facts for facts in known if facts.source == source), None)
    if locked is not None and locked.files:
        return locked
    # What an earlier catalog said is no fact of the source: the catalog of today goes before it.
    here = published(source) if isinstance(source, HubSourceSpec) else None
    return here or locked


def _near(source: SourceSpec) -> str:
    return nearest(source.hf, repositories()) if isinstance(source, HubSourceSpec) else ""
