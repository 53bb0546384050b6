"""Read a spec; every problem is one line with place, what was found and what is needed."""

import difflib
import json
import types
import typing
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from warmfleet.errors import SpecError
from warmfleet.spec.document import Document, FieldPath, read_document
from warmfleet.spec.models import FleetSpec

__all__ = ["load_spec", "located", "nearest", "parse_spec"]


def load_spec(path: Path) -> FleetSpec:
    """Read and check a spec file.

    Raises:
        SpecError: every problem on a line of its own, ``FILE:LINE: FIELD: found, needed``.
    """
    return parse_spec(read_document(path))


def parse_spec(document: Document) -> FleetSpec:
    """Check a spec that was read already; raises as load_spec does."""
    if not isinstance(document.value, dict):
        msg = f"{document.path}: found {_shown(document.value)}; needed fields as NAME: VALUE"
        raise SpecError(msg)
    try:
        # As JSON, since strict checking takes lists for tuples and text for networks only there.
        return FleetSpec.model_validate_json(json.dumps(document.value))
    except ValidationError as error:
        # Pydantic tries each form of a union: one line for one place is enough.
        lines: dict[FieldPath, tuple[int, str]] = {}
        for detail in error.errors(include_url=False):
            if not _is_echo(detail):
                where, said = _problem(document, detail)
                line = document.line(where)
                lines.setdefault(
                    where, (line, f"{document.path}:{line}: {_written(where)}: {said}")
                )
        raise SpecError("\n".join(text for _, text in sorted(lines.values()))) from error


def located(document: Document, message: str) -> str:
    """Put file and line before a message that starts with a field's path."""
    line = document.line(_parsed(message.partition(":")[0]))
    return f"{document.path}:{line}: {message}"


def nearest(found: object, known: typing.Iterable[str]) -> str:
    """Return ``; did you mean 'X'?`` when something known is written alike, else nothing."""
    names = {name.lower(): name for name in known}
    close = difflib.get_close_matches(str(found).lower(), names, n=1, cutoff=0.6)
    return f"; did you mean {names[close[0]]!r}?" if close else ""


def _is_echo(detail: ErrorDetails) -> bool:
    """Tell whether this only repeats that the entries of a list have problems of their own."""
    if detail["type"] != "too_short" or not isinstance(detail["input"], list):
        return False
    return len(detail["input"]) >= int(detail["ctx"]["min_length"])


def _problem(document: Document, detail: ErrorDetails) -> tuple[FieldPath, str]:
    context = detail.get("ctx", {})
    if "path" in context:
        where = _parsed(str(context["path"]))
    else:
        where = _real_path(document.value, detail["loc"], missing=detail["type"] == "missing")
    return where, _said(detail, where)


def _said(detail: ErrorDetails, where: FieldPath) -> str:
    kind, context, found = detail["type"], detail.get("ctx", {}), _shown(detail["input"])
    if kind == "extra_forbidden":
        known = _fields_at(where[:-1])
        hint = nearest(where[-1], known) or f"; known here: {', '.join(known)}"
        return f"unknown field{hint}"
    if kind == "missing":
        about = _description(where)
        return f"missing: {about}" if about else "missing"
    if kind == "literal_error":
        expected = str(context["expected"])
        known = [name.strip("'") for name in expected.replace(" or ", ", ").split(", ")]
        hint = nearest(detail["input"], known) if len(known) > 1 else ""
        return f"found {found}; needed {expected}{hint}"
    if "said" in context:
        return str(context["said"])
    return f"found {found}; needed {_needed(kind, context) or detail['msg']}"


def _needed(kind: str, context: dict[str, Any]) -> str:
    limits = {
        "greater_than": "more than {gt}",
        "greater_than_equal": "at least {ge}",
        "less_than": "less than {lt}",
        "less_than_equal": "at most {le}",
        "string_too_short": "at least {min_length} character",
        "string_too_long": "at most {max_length} characters",
        "too_short": "at least {min_length} entry",
        "bool_type": "true or false",
        "dict_type": "fields as NAME: VALUE",
        "float_type": "a number",
        "finite_number": "a finite number",
        "int_from_float": "a whole number",
        "int_type": "a whole number",
        "int_parsing_size": "a smaller number",
        "model_type": "fields as NAME: VALUE",
        "string_type": "text",
        "tuple_type": "a list",
    }
    numbers = {
        key: f"{value:g}" if isinstance(value, float) else value for key, value in context.items()
    }
    return limits.get(kind, "").format(**numbers)


def _real_path(value: Any, loc: tuple[int | str, ...], *, missing: bool) -> FieldPath:
    """Return ``loc`` without what pydantic adds: names of union members and of validators."""
    path: list[str | int] = []
    for index, part in enumerate(loc):
        last = index == len(loc) - 1
        if part in (value if isinstance(value, dict) else range(_length(value))):
            value = value[part]
        elif not (last and missing):
            continue
        path.append(part)
    return tuple(path)


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list) else 0


def _fields_at(where: FieldPath) -> list[str]:
    return [name for model in _models_at(where) for name in model.model_fields]


def _description(where: FieldPath) -> str:
    for model in _models_at(where[:-1]):
        field = model.model_fields.get(str(where[-1]))
        if field is not None and field.description:
            return field.description
    return ""


def _models_at(where: FieldPath) -> list[type[BaseModel]]:
    """Return the models that may stand at a path: several where there is a union."""
    models: list[type[BaseModel]] = [FleetSpec]
    for part in where:
        if isinstance(part, int):
            continue
        annotations = [
            model.model_fields[part].annotation for model in models if part in model.model_fields
        ]
        models = [model for annotation in annotations for model in _models_in(annotation)]
    return models


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if isinstance(annotation, types.GenericAlias) or typing.get_origin(annotation) is not None:
        return [model for inner in typing.get_args(annotation) for model in _models_in(inner)]
    return []


def _written(where: FieldPath) -> str:
    text = ""
    for part in where:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".") or "spec"


def _parsed(written: str) -> FieldPath:
    parts = written.replace("[", ".").replace("]", "").split(".")
    return tuple(int(part) if part.isdigit() else part for part in parts)


def _shown(found: Any) -> str:
    if isinstance(found, dict):
        return "a mapping"
    if isinstance(found, list):
        return "a list" if found else "an empty list"
    text = json.dumps(found) if found is None or isinstance(found, bool) else repr(found)
    return text if len(text) <= 60 else f"{text[:57]}..."
