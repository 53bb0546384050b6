"""A plan as one HTML file without anything from elsewhere: for who decides, and for who checks."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from warmfleet.catalog.land import land
from warmfleet.catalog.models import Catalog
from warmfleet.plan.gpu_models import GpuFleetPlan
from warmfleet.plan.models import Decision, FleetPlan
from warmfleet.plan.notices import notices_of
from warmfleet.plan.rendering import html_pages
from warmfleet.plan.site_map import draw_map
from warmfleet.plan.summary import summary_of

__all__ = ["render_html"]


class _Chapter(Struct, frozen=True):
    """Choices about one part of the plan."""

    title: str
    decisions: tuple[Decision, ...]


def render_html(plan: FleetPlan | GpuFleetPlan, catalog: Catalog) -> str:
    """Return the page; equal plans give equal pages."""
    chapters = list(_chapters(plan.decisions))
    if isinstance(plan, FleetPlan):
        return html_pages().get_template("plan.html.j2").render(plan=plan, chapters=chapters)
    template = html_pages().get_template("gpu_plan.html.j2")
    return template.render(
        plan=plan,
        chapters=chapters,
        summary=summary_of(plan),
        notices=list(notices_of(plan)),
        places={place.id: place.name for place in catalog.places},
        map=draw_map(plan.sites, catalog),
        coast=land().source,
    )


def _chapters(decisions: Sequence[Decision]) -> Iterator[_Chapter]:
    """Yield the choices by the part of the plan that they are about, in the plan's order."""
    parts: dict[str, list[Decision]] = {}
    for decision in decisions:
        first = decision.field.split(".")[0]
        part = first if "[" in first else "cost" if first == "cost" else "the whole"
        parts.setdefault(part, []).append(decision)
    for title, found in parts.items():
        yield _Chapter(title, tuple(found))
