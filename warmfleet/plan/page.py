"""A plan as a Markdown page, for the pull request that changes it."""

from functools import cache

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from warmfleet.content import content_root
from warmfleet.plan.choice import gib
from warmfleet.plan.gpu_models import GpuFleetPlan
from warmfleet.plan.models import FleetPlan
from warmfleet.plan.money import amount

__all__ = ["render_page"]


def render_page(plan: FleetPlan | GpuFleetPlan) -> str:
    """Return the page; equal plans give equal pages."""
    name = "plan.md.j2" if isinstance(plan, FleetPlan) else "gpu_plan.md.j2"
    timeouts = plan.timeouts.model_dump().items()
    return _environment().get_template(name).render(plan=plan, timeouts=timeouts)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(content_root() / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - Markdown; the values come from our own models
    )
    environment.filters["cell"] = _cell
    environment.filters["gib"] = gib
    environment.filters["amount"] = amount
    environment.filters["gb"] = lambda size: f"{size / 10**9:.0f}"
    return environment


def _cell(value: object) -> str:
    """Return a value as one table cell: no bar may end it, no line may break it."""
    items = value if isinstance(value, list) else [value]
    text = ", ".join(f"{item:g}" if isinstance(item, float) else str(item) for item in items)
    return " ".join(text.split()).replace("|", "\\|")
