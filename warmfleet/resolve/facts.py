"""Turn what a spec names into facts: weights with size and hash, places with coordinates."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inference_app.problems import nearest
from warmfleet.catalog.models import Catalog, Model, Place, Weights
from warmfleet.errors import SpecError
from warmfleet.spec.models import FleetSpec, ModelSpec, UsersSpec
from warmfleet.spec.sources import PackageSourceSpec, PathSourceSpec

__all__ = ["Facts", "ModelFacts", "UserFacts", "resolve"]


@dataclass(frozen=True)
class ModelFacts:
    """Weights and shape of one model of the spec."""

    shape: Model
    weights: Weights
    path: str | None
    """The file as the spec wrote it, when it lies on this machine; None: in a package."""


@dataclass(frozen=True)
class UserFacts:
    """A share of the users and where they are."""

    place: Place
    fraction: float


@dataclass(frozen=True)
class Facts:
    """Everything the planner may know of the world."""

    models: tuple[ModelFacts, ...]
    users: tuple[UserFacts, ...]


def resolve(spec: FleetSpec, catalog: Catalog, *, root: Path) -> Facts:
    """Look up all that the spec names; relative paths start at ``root``.

    Raises:
        SpecError: something named is unknown or unreadable; the nearest known one is named.
    """
    return Facts(
        models=tuple(
            _model(f"models[{index}]", model, catalog, root)
            for index, model in enumerate(spec.models)
        ),
        users=tuple(
            _users(f"users[{index}]", users, catalog) for index, users in enumerate(spec.users)
        ),
    )


def _model(at: str, model: ModelSpec, catalog: Catalog, root: Path) -> ModelFacts:
    if isinstance(model.source, PathSourceSpec):
        weights, path = _local(f"{at}.source.path", model.source, catalog, root), model.source.path
    elif isinstance(model.source, PackageSourceSpec):
        weights, path = _packaged(f"{at}.source", model.source, catalog.weights), None
    else:
        msg = f"{at}.source: found weights elsewhere; needed a package or a path, which can be read"
        raise SpecError(msg)
    shape = next(row for row in catalog.models if row.id == weights.model)
    return ModelFacts(shape, weights, path)


def _packaged(at: str, source: PackageSourceSpec, rows: Sequence[Weights]) -> Weights:
    carried = [row for row in rows if row.package == source.package]
    if not carried:
        known = sorted({row.package for row in rows})
        hint = nearest(source.package, known) or f"; known: {', '.join(known)}"
        msg = f"{at}.package: found {source.package!r}, which the catalog does not know{hint}"
        raise SpecError(msg)
    for row in carried:
        if row.file == source.file:
            return row
    files = [row.file for row in carried]
    hint = nearest(source.file, files) or f"; it has: {', '.join(files)}"
    msg = f"{at}.file: found {source.file!r}, which {source.package} does not have{hint}"
    raise SpecError(msg)


def _local(at: str, source: PathSourceSpec, catalog: Catalog, root: Path) -> Weights:
    try:
        # Not opened unless it is a file: a pipe would wait for a writer, a device has no end.
        if not (root / source.path).is_file() and (root / source.path).exists():
            msg = f"{at}: {source.path}: found no regular file; needed a file of weights"
            raise SpecError(msg)
        with (root / source.path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        msg = f"{at}: {source.path}: {error.strerror}; needed a readable file of weights"
        raise SpecError(msg) from error
    for row in catalog.weights:
        if row.sha256 == digest:
            return row
    known = ", ".join(sorted({row.file for row in catalog.weights}))
    msg = f"{at}: {source.path} has sha256 {digest[:12]}..., which the catalog does not know; "
    raise SpecError(f"{msg}needed one of: {known}")


def _users(at: str, users: UsersSpec, catalog: Catalog) -> UserFacts:
    for place in catalog.places:
        if place.id == users.where:
            return UserFacts(place, users.share.fraction)
    known = {place.id: place.id for place in catalog.places}
    known |= {place.name: place.id for place in catalog.places}
    if users.where in known:
        hint = f"; did you mean {known[users.where]!r}?"
    else:
        hint = nearest(users.where, known) or "; needed a province such as CN-GD"
    msg = f"{at}.where: found {users.where!r}, which the catalog does not know{hint}"
    raise SpecError(msg)
