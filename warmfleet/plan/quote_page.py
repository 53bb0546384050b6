"""A request for quotation as Markdown, in English or Chinese."""

from collections.abc import Sequence
from typing import Literal

from warmfleet.plan.quote_models import QuoteRequest
from warmfleet.plan.rendering import markdown_pages

__all__ = ["LANGUAGES", "Language", "render_quote"]

Language = Literal["en", "zh"]

LANGUAGES: tuple[Language, ...] = ("en", "zh")


def render_quote(request: QuoteRequest, languages: Sequence[Language] = LANGUAGES) -> str:
    """Return the request in these languages, one after the other; equal requests, equal pages."""
    pages = [
        markdown_pages().get_template(f"quote.{language}.md.j2").render(quote=request)
        for language in languages
    ]
    return "\n---\n\n".join(pages)
