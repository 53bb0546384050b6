"""A plan as a Markdown page, for the pull request that changes it."""

from warmfleet.plan.gpu_models import GpuFleetPlan
from warmfleet.plan.models import FleetPlan
from warmfleet.plan.notices import notices_of
from warmfleet.plan.rendering import markdown_pages
from warmfleet.plan.summary import summary_of

__all__ = ["render_page"]


def render_page(plan: FleetPlan | GpuFleetPlan) -> str:
    """Return the page; equal plans give equal pages."""
    timeouts = plan.timeouts.model_dump().items()
    if isinstance(plan, FleetPlan):
        template = markdown_pages().get_template("plan.md.j2")
        return template.render(plan=plan, timeouts=timeouts)
    return (
        markdown_pages()
        .get_template("gpu_plan.md.j2")
        .render(plan=plan, timeouts=timeouts, summary=summary_of(plan), notices=notices_of(plan))
    )
