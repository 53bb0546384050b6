"""YAML with the places of its fields: what is safe to load, and where each value stands.

Only what JSON can say comes out (YAML 1.2 core: no dates, no base-60 numbers, ``yes`` is text), so
that a value means the same to the editor's schema and to us.
"""

import contextlib
import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from inference_app.problems import FieldPath, shown, written
from warmfleet.errors import SpecError

__all__ = ["MAX_BYTES", "Document", "read_document"]

MAX_BYTES = 512 * 1024
"""A spec is a page or two, and with a thousand servers 350 KB; a larger file is the wrong file."""

_SLOW_BYTES = 32 * 1024
"""Above this, the parser in C, ten times as fast, reads first; its messages say less."""

_MAX_NODES = 50_000
_MAX_DEPTH = 24
_PLAIN_TAGS = {
    f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "seq", "map")
} | {"tag:yaml.org,2002:merge"}


@dataclass(frozen=True)
class Document:
    """A loaded file: plain values, and the line of each field (1 is the first)."""

    path: Path
    value: Any
    lines: dict[FieldPath, int] = field(repr=False)
    sha256: str
    """Of the file."""

    def line(self, where: FieldPath) -> int:
        """Return the line of a field, or that of the nearest field around it."""
        while where and where not in self.lines:
            where = where[:-1]
        return self.lines.get(where, 1)


def read_document(path: Path) -> Document:
    """Read one YAML document.

    Raises:
        SpecError: unreadable, too large, not YAML, a key that is twice there or is not text.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        msg = f"{path}: {error.strerror}; needed a readable YAML file"
        raise SpecError(msg) from error
    if len(raw) > MAX_BYTES:
        msg = f"{path}: larger than {MAX_BYTES // 1024} KiB; needed a spec, which is a page or two"
        raise SpecError(msg)
    try:
        loader, node = _composed(raw.decode("utf-8"))
        lines: dict[FieldPath, int] = {}
        if node is not None:
            _walk(path, node, (), lines)
        value = None if node is None else loader.construct_document(node)
    except UnicodeDecodeError as error:
        msg = f"{path}: not UTF-8 text (byte {error.start}); needed a YAML file"
        raise SpecError(msg) from error
    except yaml.YAMLError as error:
        raise SpecError(_yaml_problem(path, error)) from error
    except RecursionError as error:
        msg = f"{path}: nested too deeply; needed a spec, which has a few levels"
        raise SpecError(msg) from error
    return Document(path, value, lines, hashlib.sha256(raw).hexdigest())


class _Loader(yaml.SafeLoader):
    """Safe, and with the implicit types of JSON alone."""


class _FastLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The same in C, where PyYAML was built with it."""


# The parents' table is shared by all loaders: a new one, not a changed one.
_Loader.yaml_implicit_resolvers = {}
_FastLoader.yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers
for _tag, _pattern, _first in (
    ("tag:yaml.org,2002:bool", r"true|false", "tf"),
    ("tag:yaml.org,2002:null", r"null|~|", ["n", "~", ""]),
    # No number in a spec has more digits; a longer one is text, which no number field takes.
    ("tag:yaml.org,2002:int", r"[-+]?(0|[1-9][0-9]{0,39})", "-+0123456789"),
    (
        "tag:yaml.org,2002:float",
        r"[-+]?(0|[1-9][0-9]{0,39})(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?",
        "-+0123456789",
    ),
    ("tag:yaml.org,2002:merge", r"<<", "<"),
):
    _Loader.add_implicit_resolver(_tag, re.compile(rf"^(?:{_pattern})$"), list(_first))


def _composed(text: str) -> tuple[yaml.SafeLoader, yaml.Node | None]:
    if len(text) > _SLOW_BYTES:
        with contextlib.suppress(yaml.YAMLError):
            fast: yaml.SafeLoader = _FastLoader(text)
            return fast, fast.get_single_node()
    loader = _Loader(text)
    return loader, loader.get_single_node()


def _walk(path: Path, node: yaml.Node, where: FieldPath, lines: dict[FieldPath, int]) -> None:
    # Counted by visits, not by nodes: aliases can repeat a node without bound.
    if len(lines) > _MAX_NODES or len(where) > _MAX_DEPTH:
        msg = f"{path}:{_line(node)}: nested or repeated too deeply; needed a plain spec"
        raise SpecError(msg)
    if node.tag not in _PLAIN_TAGS:
        # Also those that PyYAML has a safe type for: dates, bytes and sets are not JSON.
        tag = shown(node.tag.replace("tag:yaml.org,2002:", "!!"))
        at = written(where) or "spec"
        msg = f"{path}:{_line(node)}: {at}: found the tag {tag}; needed a plain value"
        raise SpecError(msg)
    if isinstance(node, yaml.ScalarNode) and not node.value.isascii():
        _must_be_unicode(path, node, where)
    lines.setdefault(where, _line(node))
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _walk(path, item, (*where, index), lines)
    elif isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            name = _key(path, key)
            if name in seen:
                msg = f"{path}:{_line(key)}: {name}: is there twice; needed once"
                raise SpecError(msg)
            seen.add(name)
            inner = where if name == "<<" else (*where, name)
            if inner != where:
                lines[inner] = _line(key)
            _walk(path, value, inner, lines)


def _must_be_unicode(path: Path, node: yaml.ScalarNode, where: FieldPath) -> None:
    try:
        node.value.encode()
    except UnicodeEncodeError as error:
        msg = f"{path}:{_line(node)}: {written(where)}: found half a character; needed text"
        raise SpecError(msg) from error


def _key(path: Path, key: yaml.Node) -> str:
    if isinstance(key, yaml.ScalarNode) and key.tag in {
        "tag:yaml.org,2002:str",
        "tag:yaml.org,2002:merge",
    }:
        return str(key.value)
    found = repr(key.value) if isinstance(key, yaml.ScalarNode) else "a list or mapping"
    msg = f"{path}:{_line(key)}: found {found} as a field name; needed text"
    raise SpecError(msg)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _yaml_problem(path: Path, error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    said = getattr(error, "problem", None) or str(error).splitlines()[0]
    line = f":{mark.line + 1}" if mark is not None else ""
    return f"{path}{line}: not YAML: {said}; needed fields as NAME: VALUE"
