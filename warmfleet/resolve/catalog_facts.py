"""What the catalog knows of a source, without asking anyone."""

from inference_app.problems import nearest
from warmfleet.catalog.llm import llms
from warmfleet.catalog.models import Catalog, Model, Weights
from warmfleet.catalog.names import find_model, precision_in
from warmfleet.errors import NameUnknownError, SpecError
from warmfleet.resolve.model_facts import FileFacts, ModelFacts
from warmfleet.spec.sources import HubSourceSpec, PackageSourceSpec, SourceSpec

__all__ = ["alike", "packaged", "published", "repositories", "weights_facts"]


def packaged(at: str, source: PackageSourceSpec, catalog: Catalog) -> ModelFacts:
    """Return the facts of weights in a package.

    Raises:
        SpecError: the catalog does not know the package or the file; the nearest one is named.
    """
    carried = [row for row in catalog.weights if row.package == source.package]
    if not carried:
        known = sorted({row.package for row in catalog.weights})
        hint = nearest(source.package, known) or f"; known: {', '.join(known)}"
        msg = f"{at}.package: found {source.package!r}, which the catalog does not know{hint}"
        raise SpecError(msg)
    for row in carried:
        if row.file == source.file:
            return weights_facts(source, row, catalog)
    files = [row.file for row in carried]
    hint = nearest(source.file, files) or f"; it has: {', '.join(files)}"
    msg = f"{at}.file: found {source.file!r}, which {source.package} does not have{hint}"
    raise SpecError(msg)


def weights_facts(source: SourceSpec, row: Weights, catalog: Catalog) -> ModelFacts:
    """Return the facts of a file that the catalog has a row of."""
    model = next(model for model in catalog.models if model.id == row.model)
    return ModelFacts(
        source=source,
        name=model.id,
        format=row.format,
        architecture=model.architecture,
        precision=row.precision,
        tasks=model.tasks,
        files=(FileFacts(path=row.file, size_bytes=row.size_bytes, sha256=row.sha256),),
        found_in={"architecture": f"catalog: {model.source}", "files": f"catalog: {row.source}"},
    )


def published(source: HubSourceSpec) -> ModelFacts | None:
    """Return the facts of a repository that the catalog has by its very name; None: it has not."""
    if source.file is not None:
        return None
    for model in llms():
        if source.hf in {model.id, *model.names}:
            return _facts(source, model, model.precision, "catalog")
    return None


def repositories() -> list[str]:
    """Return the names of all repositories that the catalog has."""
    return [model.id for model in llms()]


def alike(source: HubSourceSpec, why: str) -> ModelFacts | None:
    """Return the facts of the catalog's model whose shape the repository's name tells.

    Args:
        source: A repack or fine-tune, for example.
        why: Said beside the facts: what could not be read.

    Returns:
        None where the catalog has no such model.
    """
    name = f"{source.hf}/{source.file}" if source.file else source.hf
    try:
        model = find_model(source.hf)
    except NameUnknownError:
        return None
    return _facts(source, model, precision_in(name) or model.precision, f"catalog ({why})")


def _facts(source: HubSourceSpec, model: Model, precision: str, where: str) -> ModelFacts:
    return ModelFacts(
        source=source,
        name=source.hf,
        format="gguf" if source.file or "gguf" in source.hf.lower() else "safetensors",
        architecture=model.architecture,
        precision=precision,
        tasks=model.tasks,
        found_in={"architecture": f"{where}: {model.id}, {model.source}", "precision": where},
    )
