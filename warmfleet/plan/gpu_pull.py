"""The weights that the servers of a site fetch."""

from collections.abc import Iterable, Sequence

from warmfleet.plan.gpu_choice import Chosen
from warmfleet.plan.gpu_files import files_bytes
from warmfleet.plan.gpu_models import ServerGroupPlan

__all__ = ["pull_bytes"]


def pull_bytes(groups: Iterable[ServerGroupPlan], chosen: Sequence[Chosen]) -> int:
    """Return the bytes of one revision of all models, for every server that serves them."""
    sizes = {one.wanted.spec.name: files_bytes(one) for one in chosen}
    return sum(
        group.count * sum(sizes[model] for model in {place.model for place in group.replicas})
        for group in groups
    )
