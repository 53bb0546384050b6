"""What is wrong with data that a person or another program wrote: place, found, needed, nearest.

Both sides say it through here: the service about its settings, the control side about specs and
plan locks. It needs pydantic alone.
"""

import difflib
import json
import sys
import types
import typing
from collections.abc import Iterable
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

__all__ = ["FieldPath", "nearest", "parsed", "problems", "read_json", "shown", "written"]

FieldPath = tuple[str | int, ...]

_NEEDED: Final = "; needed "
_TAG_ERRORS: Final = {"union_tag_invalid", "union_tag_not_found"}


def problems(error: ValidationError, model: type[BaseModel], value: Any) -> dict[FieldPath, str]:
    """Return what is wrong at each place of ``value``, which ``model`` refused.

    A sentence is ``found X; needed Y``, with the nearest valid name where one is written alike.
    """
    said: dict[FieldPath, str] = {}
    for detail in error.errors(include_url=False):
        if not _is_echo(detail):
            where = _place(value, detail)
            sentence = _sentence(model, where, detail)
            # Pydantic tries each form of a union: one sentence names them all.
            begun, _, other = sentence.partition(_NEEDED)
            known = said.get(where, "")
            if other and known.startswith(begun + _NEEDED):
                named = known.removeprefix(begun + _NEEDED).split(" or ")
                said[where] += "" if other in named else f" or {other}"
            else:
                said.setdefault(where, sentence)
    # A value that one form of a union takes, but for something inside, is not wrong as a whole.
    outer = {where[:depth] for where in said for depth in range(len(where))}
    return {where: sentence for where, sentence in said.items() if where not in outer}


def read_json(raw: bytes) -> Any:
    """Read JSON that means one thing only: UTF-8, each key once, no NaN.

    Raises:
        ValueError: what is wrong, and where in the text it is.
    """
    try:
        return json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_once,
            parse_constant=_refuse_constant,
            parse_int=_whole,
        )
    except UnicodeDecodeError as error:
        msg = f"not UTF-8 text (byte {error.start})"
        raise ValueError(msg) from error
    except json.JSONDecodeError as error:
        msg = f"not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        raise ValueError(msg) from error
    except RecursionError as error:
        msg = "nested too deeply"
        raise ValueError(msg) from error


def nearest(found: object, known: Iterable[str]) -> str:
    """Return ``; did you mean 'X'?`` when something known is written alike, else nothing."""
    names = {name.lower(): name for name in known}
    close = difflib.get_close_matches(str(found).lower(), names, n=1, cutoff=0.6)
    return f"; did you mean {names[close[0]]!r}?" if close else ""


def written(where: FieldPath) -> str:
    """Return a place as people write it, ``models[0].name``; nothing for the whole."""
    text = ""
    for part in where:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")


def parsed(text: str) -> FieldPath:
    """Return the place that ``written`` wrote."""
    parts = text.replace("[", ".").replace("]", "").split(".")
    return tuple(int(part) if part.isdigit() else part for part in parts)


def shown(found: Any) -> str:
    """Return a value as it fits into a line."""
    if isinstance(found, dict):
        return "a mapping"
    if isinstance(found, list):
        return "a list" if found else "an empty list"
    text = json.dumps(found) if found is None or isinstance(found, bool) else repr(found)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                msg = f"{name}: is there twice; needed once"
                raise ValueError(msg)
            seen.add(name)
    return fields


def _whole(digits: str) -> int:
    most = sys.get_int_max_str_digits()
    if len(digits) > most:
        msg = f"found a number of more than {most} digits"
        raise ValueError(msg)
    return int(digits)


def _refuse_constant(found: str) -> None:
    msg = f"not JSON: found {found}; needed a finite number"
    raise ValueError(msg)


def _is_echo(detail: ErrorDetails) -> bool:
    """Tell whether this only repeats that the entries of a list have problems of their own."""
    if detail["type"] != "too_short" or not isinstance(detail["input"], list):
        return False
    return len(detail["input"]) >= int(detail["ctx"]["min_length"])


def _place(value: Any, detail: ErrorDetails) -> FieldPath:
    context = detail.get("ctx", {})
    if "path" in context:
        return parsed(str(context["path"]))
    where = _real_path(value, detail["loc"], missing=detail["type"] == "missing")
    return (*where, _tag_field(detail)) if detail["type"] in _TAG_ERRORS else where


def _sentence(model: type[BaseModel], where: FieldPath, detail: ErrorDetails) -> str:
    kind, context, found = detail["type"], detail.get("ctx", {}), shown(detail["input"])
    if kind == "extra_forbidden":
        forms = _of_tag(_models_at(model, where[:-1]), detail["loc"])
        known = [name for form in forms for name in form.model_fields]
        if where[-1] in known:  # of another member of the union
            fields = " or ".join(" and ".join(_required(form)) for form in forms)
            return f"found beside fields that it does not go with; needed {fields}"
        hint = nearest(where[-1], known) or f"; known here: {', '.join(known)}"
        return f"unknown field{hint}"
    if kind in _TAG_ERRORS:
        tags = [tag.strip("'") for tag in str(context.get("expected_tags", "")).split(", ")]
        if kind == "union_tag_not_found":
            holder = _description(model, where[:-1])
            return f"missing: tells apart {holder}" if holder else "missing"
        needed = " or ".join(", ".join(map(repr, tags)).rsplit(", ", 1))
        return f"found {shown(context['tag'])}; needed {needed}{nearest(context['tag'], tags)}"
    if kind == "missing":
        about = _description(model, where)
        return f"missing: {about}" if about else "missing"
    if kind in {"literal_error", "enum"}:
        expected = str(context["expected"])
        names = [name.strip("'") for name in expected.replace(" or ", ", ").split(", ")]
        hint = nearest(detail["input"], names) if len(names) > 1 else ""
        return f"found {found}; needed {expected}{hint}"
    if "said" in context:
        return str(context["said"])
    return f"found {found}; needed {_needed(kind, context) or detail['msg']}"


def _required(form: type[BaseModel]) -> list[str]:
    needed = [name for name, field in form.model_fields.items() if field.is_required()]
    return needed or list(form.model_fields)


def _needed(kind: str, context: dict[str, Any]) -> str:
    limits = {
        "greater_than": "more than {gt}",
        "greater_than_equal": "at least {ge}",
        "less_than": "less than {lt}",
        "less_than_equal": "at most {le}",
        "string_pattern_mismatch": "text that matches {pattern}",
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
        "list_type": "a list",
        "model_type": "fields as NAME: VALUE",
        "path_type": "a path",
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


def _tag_field(detail: ErrorDetails) -> str:
    """Return the field that tells the members of a union apart."""
    return str(detail.get("ctx", {})["discriminator"]).strip("'")


def _length(value: Any) -> int:
    return len(value) if isinstance(value, list) else 0


def _description(model: type[BaseModel], where: FieldPath) -> str:
    for inner in _models_at(model, where[:-1]):
        field = inner.model_fields.get(str(where[-1]))
        if field is not None and field.description:
            return field.description
    return ""


def _models_at(model: type[BaseModel], where: FieldPath) -> list[type[BaseModel]]:
    """Return the models that may stand at a path: several where there is a union."""
    models = [model]
    for part in where:
        if isinstance(part, int):
            continue
        annotations = [
            inner.model_fields[part].annotation for inner in models if part in inner.model_fields
        ]
        models = [inner for annotation in annotations for inner in _models_in(annotation)]
    return models


def _of_tag(models: list[type[BaseModel]], loc: tuple[int | str, ...]) -> list[type[BaseModel]]:
    """Return those whose own field has the tag by which pydantic took one of a union; else all."""
    tagged = [
        model
        for model in models
        for field in model.model_fields.values()
        if typing.get_origin(field.annotation) is typing.Literal
        and typing.get_args(field.annotation) == loc[-2:-1]
    ]
    return tagged or models


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if isinstance(annotation, types.GenericAlias) or typing.get_origin(annotation) is not None:
        return [model for inner in typing.get_args(annotation) for model in _models_in(inner)]
    return []
