"""Jinja2 as pages of a plan use it; a name that a template does not know is an error."""

import re
from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from warmfleet.content import content_root
from warmfleet.plan.choice import gb, gib
from warmfleet.plan.money import amount

__all__ = ["cell", "html_pages", "markdown_pages"]


@cache
def markdown_pages() -> Environment:
    """Return the environment of Markdown pages; values go through ``cell``."""
    environment = _environment(autoescape=False)  # Markdown: cell() escapes
    environment.filters["cell"] = cell
    return environment


@cache
def html_pages() -> Environment:
    """Return the environment of HTML pages: every value is escaped."""
    environment = _environment(autoescape=True)
    environment.filters["plain"] = plain
    return environment


def _environment(*, autoescape: bool) -> Environment:
    environment = Environment(
        loader=FileSystemLoader(content_root() / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=autoescape,  # noqa: S701 - off for Markdown alone
    )
    environment.filters["gib"] = gib
    environment.filters["gb"] = gb
    environment.filters["amount"] = amount
    return environment


def plain(value: object) -> str:
    """Return a value as people read it: no more digits than a float needs."""
    items = value if isinstance(value, list) else [value]
    return ", ".join(f"{item:g}" if isinstance(item, float) else str(item) for item in items)


def cell(value: object) -> str:
    """Return a value as text of one table cell: no mark-up begins in it, no line ends in it."""
    text = " ".join(plain(value).split())
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\`*|\[\]])", r"\\\1", text)
