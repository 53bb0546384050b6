"""Read a spec; every problem is one line with place, what was found and what is needed."""

import json
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from inference_app.problems import parsed, problems, shown, written
from warmfleet.errors import SpecError
from warmfleet.spec.document import Document, read_document
from warmfleet.spec.models import FleetSpec

__all__ = ["load_spec", "located", "parse_document", "parse_spec"]

T = TypeVar("T", bound=BaseModel)


def load_spec(path: Path) -> FleetSpec:
    """Read and check a spec file.

    Raises:
        SpecError: every problem on a line of its own, ``FILE:LINE: FIELD: found, needed``.
    """
    return parse_spec(read_document(path))


def parse_spec(document: Document) -> FleetSpec:
    """Check a spec that was read already; raises as load_spec does."""
    return parse_document(document, FleetSpec, "spec")


def parse_document(document: Document, model: type[T], what: str) -> T:
    """Check a file that a person wrote; ``what`` names the whole of it.

    Raises:
        SpecError: as load_spec does.
    """
    if not isinstance(document.value, dict):
        msg = f"{document.path}: found {shown(document.value)}; needed fields as NAME: VALUE"
        raise SpecError(msg)
    try:
        # As JSON, since strict checking takes lists for tuples and text for networks only there.
        return model.model_validate_json(json.dumps(document.value))
    except ValidationError as error:
        lines = sorted(
            (line, f"{document.path}:{line}: {written(where) or what}: {said}")
            for where, said in problems(error, model, document.value).items()
            for line in [document.line(where)]
        )
        raise SpecError("\n".join(text for _, text in lines)) from error


def located(document: Document, message: str) -> str:
    """Put file and line before each line of a message; it starts with a field's path."""

    def placed(said: str) -> str:
        return f"{document.path}:{document.line(parsed(said.partition(':')[0]))}: {said}"

    return "\n".join(map(placed, message.splitlines()))
