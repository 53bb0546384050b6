"""Driver and CUDA of a server: what its cards and its engines agree on."""

from collections.abc import Mapping, Sequence

from warmfleet.plan.choice import Choice
from warmfleet.plan.gpu_choice import Chosen
from warmfleet.plan.gpu_host_models import DriverPlan, EngineBuildPlan
from warmfleet.plan.models import Scalar
from warmfleet.sizing.software import Software, software_for

__all__ = ["choose_driver"]


def choose_driver(
    models: Sequence[Chosen],
) -> tuple[DriverPlan | None, Mapping[str, Choice[Scalar]]]:
    """Choose the driver for models on the same cards; None where the catalog knows none.

    Cards on which an engine does not run were not chosen for it.
    """
    gpu = models[0].offer.layout.gpu
    engines = sorted({model.offer.engine.engine for model in models})
    found = [software for name in engines if (software := software_for(gpu, name)) is not None]
    if not found:
        return None, {}
    # The engine that asks for most decides: a newer driver runs what an older one does.
    strictest = max(found, key=lambda one: (one.least_driver, one.branch.number))
    only = strictest.architecture.modules
    plan = DriverPlan(
        branch=str(strictest.branch),
        until=strictest.branch.until,
        least=strictest.least_driver,
        newest=strictest.newest_driver,
        kernel_modules="proprietary" if only == "proprietary" else "open",
        builds=[
            EngineBuildPlan(engine=one.build.engine, version=one.build.version, cuda=one.build.cuda)
            for one in found
        ],
    )
    return plan, {"branch": _branch(strictest, found), "kernel_modules": _modules(strictest, plan)}


def _branch(strictest: Software, found: Sequence[Software]) -> Choice[Scalar]:
    card, branch = strictest.architecture, strictest.branch
    newest = strictest.newest_driver
    until = f"; R{newest} is the last for {card.id}" if newest else "; a newer branch does, too"
    return Choice(
        str(branch),
        f"{' and '.join(str(one.build) for one in found)} on {card.id}: CUDA "
        f"{strictest.build.major} needs R{strictest.least_driver} or newer{until}; of the "
        f"{branch.kind} branches that are kept up the oldest, until {branch.until}",
        {
            "least": strictest.least_driver,
            "newest": newest or "any",
            "cuda": strictest.build.cuda,
            "compute_capability": strictest.build.least_capability,
        },
        f"{card.source}; {branch.source}; {strictest.build.source}",
    )


def _modules(strictest: Software, plan: DriverPlan) -> Choice[Scalar]:
    card = strictest.architecture
    reason = {
        "proprietary": f"{card.id} has no open ones: those begin with Turing",
        "open": f"advised from Turing on, and {card.id} is",
        "open only": f"{card.id} has no others",
    }[card.modules]
    return Choice(plan.kernel_modules, reason, {"architecture": card.id}, card.source)
