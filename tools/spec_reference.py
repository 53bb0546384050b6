"""Write what the documentation says of the spec: its reference, and the example in the READMEs.

    python tools/spec_reference.py [--check]

``docs/spec.md`` comes from the models that read a spec. In each README the text between the markers
is ``stacks/specs/lab.yaml``. Exit 0: up to date or written. Exit 3: ``--check`` found a file that
differs.
"""

import argparse
import inspect
import sys
import types
import typing
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from warmfleet.spec import units
from warmfleet.spec.models import FleetSpec
from warmfleet.spec.prices import PriceBook
from warmfleet.spec.units import Quantity

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = "docs/spec.md"
READMES = ("README.md", "README.zh-CN.md")
EXAMPLE = "stacks/specs/lab.yaml"
BEGIN = "<!-- BEGIN SPEC -->"
END = "<!-- END SPEC -->"
INTRODUCTION = """\
# Spec reference

Written by `make docs` from the models in `warmfleet/spec/`; change those, not this page.
A complete example with comments is [stacks/specs/lab.yaml](../stacks/specs/lab.yaml).
Editors complete and check the YAML with [stacks/specs/schema.json](../stacks/specs/schema.json).

- A field that is not listed here is an error, and so is a value of another type.
- A field without a value is planned; `warmfleet plan` shows what was chosen and why.
- Every problem of a spec is reported at once, each with its file and line.
- `placement.prices` may name a [price book](#pricebook), which is a file of its own."""

_PLAIN = {str: "text", int: "whole number", float: "number", bool: "true or false"} | {
    date: "a day such as 2027-06-30"
}
_BOUNDS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}


def main(root: Path = ROOT) -> int:
    """Write or check the files and return the exit status."""
    parser = argparse.ArgumentParser(description="Write what the documentation says of the spec.")
    parser.add_argument(
        "--check", action="store_true", help="change nothing, exit 3 when it differs"
    )
    check: bool = parser.parse_args().check
    status = 0
    for name, wanted in pages(root).items():
        path = root / name
        if path.is_file() and path.read_text(encoding="utf-8") == wanted:
            continue
        if check:
            print(f"{name} differs from the spec's models or {EXAMPLE}; run: make docs")
            status = 3
        else:
            path.write_text(wanted, encoding="utf-8")
            print(f"wrote {name}")
    return status


def pages(root: Path) -> dict[str, str]:
    """Return the files, by their name below ``root``, as they should be."""
    example = (root / EXAMPLE).read_text(encoding="utf-8")
    found = {name: (root / name).read_text(encoding="utf-8") for name in READMES}
    return {
        REFERENCE: render(),
        **{name: with_example(text, example) for name, text in found.items()},
    }


def with_example(readme: str, example: str) -> str:
    """Return ``readme`` with the spec between the markers replaced; ValueError without markers."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        msg = f"found no markers; needed: the lines {BEGIN} and {END}"
        raise ValueError(msg)
    return f"{before}{BEGIN}\n```yaml\n{example}```\n{END}{after}"


def render() -> str:
    """Return the reference: a table for the whole spec, one for each part of it, then the units."""
    parts = [*_parts(FleetSpec), PriceBook, *_parts(PriceBook)]
    sections = [INTRODUCTION, "## The whole spec", _table(FleetSpec)]
    for part in dict.fromkeys(parts):
        sections += [f"## {part.__name__}", inspect.cleandoc(part.__doc__ or ""), _table(part)]
    sections += ["## Quantities", _quantities([FleetSpec, *parts])]
    return "\n\n".join(sections) + "\n"


def _parts(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield the models below ``model``, each once, in the order of the fields."""
    seen: set[type[BaseModel]] = set()
    waiting = [model]
    while waiting:
        below = [
            member
            for field in waiting.pop(0).model_fields.values()
            for member in _members(field.annotation)
            if inspect.isclass(member) and issubclass(member, BaseModel) and member not in seen
        ]
        seen.update(below)
        waiting += below
        yield from below


def _table(model: type[BaseModel]) -> str:
    rows = ["| field | value | default | what it is |", "|---|---|---|---|"]
    for name, field in model.model_fields.items():
        cells = [f"`{name}`", _value(field), _default(field), field.description or ""]
        rows.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    return "\n".join(rows)


def _value(field: FieldInfo) -> str:
    kind = field.annotation
    if typing.get_origin(kind) is tuple:
        return f"list of {_kind(typing.get_args(kind)[0])}"
    return ", ".join([_kind(kind), *_bounds(field.metadata)])


def _kind(kind: Any) -> str:
    names = [_name(member) for member in _members(kind) if member is not type(None)]
    return " or ".join(dict.fromkeys(names))


def _members(kind: Any) -> list[Any]:
    """Return the types that ``kind`` is made of; a Literal is one of them."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _members(arguments[0])
    if origin in {typing.Union, types.UnionType}:
        return [member for argument in arguments for member in _members(argument)]
    if origin is tuple:
        return _members(arguments[0])
    return [kind]


def _name(kind: Any) -> str:
    if typing.get_origin(kind) is typing.Literal:
        return ", ".join(f"`{choice}`" for choice in typing.get_args(kind))
    if typing.get_origin(kind) is dict:
        return "names and values"
    if kind is IPv4Network:
        return "private network, /16 to /27"
    if issubclass(kind, BaseModel):
        return f"[{kind.__name__}](#{kind.__name__.lower()})"
    return _PLAIN.get(kind) or str(kind.what)


def _bounds(metadata: list[Any]) -> Iterator[str]:
    for item in metadata:
        if isinstance(item, annotated_types.MaxLen):
            yield f"at most {item.max_length} characters"
        for bound, word in _BOUNDS.items():
            if (limit := getattr(item, bound, None)) is not None:
                yield f"{word} {limit:.0f}"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.default
    if default is None:
        return "none"
    if default is PydanticUndefined or default == () or isinstance(default, BaseModel):
        return "optional"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default}`"


def _quantities(models: list[type[BaseModel]]) -> str:
    used = {
        member
        for model in models
        for field in model.model_fields.values()
        for member in _members(field.annotation)
        if inspect.isclass(member) and issubclass(member, Quantity)
    }
    rows = ["| quantity | units, and what one is |", "|---|---|"]
    for name in units.__all__:
        kind = getattr(units, name)
        if kind in used:
            written = [_unit(unit, factor) for unit, factor in kind.units.items()]
            rows.append(f"| {kind.what} | {', '.join(written)} |")
    note = "The space before a unit is optional."
    return "\n".join([*rows, "", note])


def _unit(unit: str, factor: Decimal) -> str:
    written = f"`{unit}`" if unit else "no unit"
    return written if factor == 1 else f"{written} = {factor.normalize():f}"


if __name__ == "__main__":
    sys.exit(main())
