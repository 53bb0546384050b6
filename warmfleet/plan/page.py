"""A plan as a Markdown page, for the pull request that changes it."""

from warmfleet.plan.gpu_models import GpuFleetPlan
from warmfleet.plan.models import FleetPlan
from warmfleet.plan.rendering import markdown_pages

__all__ = ["render_page"]


def render_page(plan: FleetPlan | GpuFleetPlan) -> str:
    """Return the page; equal plans give equal pages."""
    name = "plan.md.j2" if isinstance(plan, FleetPlan) else "gpu_plan.md.j2"
    timeouts = plan.timeouts.model_dump().items()
    return markdown_pages().get_template(name).render(plan=plan, timeouts=timeouts)
