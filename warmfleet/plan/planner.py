"""The planner: spec, facts and catalog in, plan out. No clock, network, random or environment."""

from typing import TYPE_CHECKING

from warmfleet.catalog.models import Catalog
from warmfleet.plan.lab import plan_lab
from warmfleet.plan.models import FleetPlan
from warmfleet.resolve.facts import Facts
from warmfleet.spec.models import FleetSpec
from warmfleet.spec.placement import LabPlacement

if TYPE_CHECKING:
    from warmfleet.plan.gpu_models import GpuFleetPlan

__all__ = ["plan_fleet"]


def plan_fleet(spec: FleetSpec, facts: Facts, catalog: Catalog) -> "FleetPlan | GpuFleetPlan":
    """Plan one environment.

    Raises:
        PlanRefusedError: nothing satisfies the spec; the message has the missing amount and the
            nearest thing that works.
    """
    if facts.probes is not None:  # wherever a path is estimated
        catalog = catalog.model_copy(update={"probes": facts.probes.times})
    if isinstance(spec.placement, LabPlacement):
        return plan_lab(spec, spec.placement, facts, catalog)
    from warmfleet.plan.baremetal import plan_baremetal  # long tables: the lab must not wait

    return plan_baremetal(spec, spec.placement, facts, catalog)
