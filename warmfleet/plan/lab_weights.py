"""Weights of the lab: one file, whose speed was measured here."""

from msgspec import Struct

from warmfleet.catalog.models import Catalog, Model, Weights
from warmfleet.errors import PlanRefusedError
from warmfleet.resolve.model_facts import ModelFacts
from warmfleet.spec.sources import PathSourceSpec

__all__ = ["LabWeights", "lab_weights"]


class LabWeights(Struct, frozen=True):
    """The catalog's rows of a file of weights."""

    shape: Model
    weights: Weights
    path: str | None
    """The file as the spec wrote it, when it lies on this machine; None: in a package."""


def lab_weights(found: ModelFacts, catalog: Catalog) -> LabWeights:
    """Return the rows of the model's file.

    Raises:
        PlanRefusedError: the catalog has no rows of it, so no speed either.
    """
    hashes = {file.sha256 for file in found.files}
    for row in catalog.weights:
        if hashes == {row.sha256}:
            shape = next(model for model in catalog.models if model.id == row.model)
            path = found.source.path if isinstance(found.source, PathSourceSpec) else None
            return LabWeights(shape, row, path)
    known = ", ".join(f"{row.package} {row.file}" for row in catalog.weights)
    msg = (
        f"models[0].source: the lab serves weights whose speed was measured, and {found.name} are "
        f"others; nearest: {known}"
    )
    raise PlanRefusedError(msg)
