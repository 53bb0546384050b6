"""The walkthrough names functions as they are in the code."""

import ast
import re

import pytest

from tests.docs.documents import ROOT, Document

WALKTHROUGH = Document("docs/one-deploy-one-request.md")
_SPAN = re.compile(r"`([^`]+)`")
_FUNCTION = re.compile(r"(?:(\w+)\.)?(\w+)\(\)")


def _sections() -> list[str]:
    return re.split(r"^#+ .+$", WALKTHROUGH.text, flags=re.MULTILINE)


def _defined(name: str) -> set[str]:
    """Return the functions and classes of a Python file; methods as CLASS.METHOD as well."""
    names: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / name).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (item for item in node.body if hasattr(item, "name"))
            names |= {f"{node.name}.{method.name}" for method in methods}
    return names


@pytest.mark.parametrize("section", _sections())
def test_functions_are_in_a_file_that_the_same_section_names(section: str) -> None:
    spans = _SPAN.findall(section)
    defined = {
        found
        for span in spans
        if span.endswith(".py") and (ROOT / span).is_file()
        for found in _defined(span)
    }

    named = {span.removesuffix("()") for span in spans if _FUNCTION.fullmatch(span)}
    named |= {span for span in spans if re.fullmatch(r"[A-Z][a-z]+[A-Z]\w+", span)}  # classes

    assert named <= defined


def test_walkthrough_passes_through_every_room() -> None:
    rooms = {
        path.parent.name
        for path in (ROOT / "warmfleet").glob("*/__init__.py")
        if any(path.parent.glob("*.py"))
    }

    visited = set(re.findall(r"`warmfleet/(\w+)/", WALKTHROUGH.text))

    assert rooms <= visited


def test_lua_functions_are_in_the_file_that_the_line_names() -> None:
    found = re.findall(r"`(\w+)` in `(roles/edge_proxy/files/lua/[\w/]+\.lua)`", WALKTHROUGH.text)

    assert len(found) == 3
    for function, name in found:
        assert f"function _M.{function}(" in (ROOT / name).read_text(encoding="utf-8")
