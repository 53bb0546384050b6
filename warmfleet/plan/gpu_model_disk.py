"""The disk for weights: room for two revisions, and the rate that the cold start needs."""

import math
from collections.abc import Mapping, Sequence

from warmfleet.catalog.servers import Disk, model_disks, server_class, sizes
from warmfleet.catalog.start_cost import service_start
from warmfleet.errors import PlanRefusedError
from warmfleet.plan.choice import Choice, gb
from warmfleet.plan.gpu_choice import Chosen
from warmfleet.plan.gpu_files import files_bytes, load_job
from warmfleet.plan.gpu_host_models import ModelDiskPlan
from warmfleet.plan.gpu_speed import RooflineSpeed
from warmfleet.plan.gpu_start_times import engine_times
from warmfleet.plan.models import Scalar
from warmfleet.plan.warmup import choose_probes
from warmfleet.sizing.load_strategy import choose_load
from warmfleet.spec.models import SloSpec

__all__ = ["choose_model_disk"]

_REVISIONS = 2
"""The weights that run and those that come next."""


def choose_model_disk(
    models: Sequence[Chosen], slo: SloSpec, cores: int, page_cache: int
) -> tuple[ModelDiskPlan, Mapping[str, Choice[Scalar]]]:
    """Choose size and kind of the disk for the weights of these models.

    Args:
        models: on the server.
        slo: what the endpoint is held to.
        cores: of the server.
        page_cache: bytes of its memory that loading may have.

    Raises:
        PlanRefusedError: no disk reads them within the asked cold start.
    """
    weights = {model.wanted.spec.name: files_bytes(model) for model in models}
    least = _REVISIONS * sum(weights.values())
    steps, comes_with = sizes("disk"), server_class(cores)
    size = Choice(
        max(steps.at_least(least), comes_with.disk_gb * 10**9),
        f"files of {' and '.join(weights)}, {_REVISIONS} revisions, the one that runs and the "
        f"next: {gb(least)} GB; the next size, and no less than comes with {cores} cores "
        f"({comes_with.disk_gb} GB)",
        {f"{name}_bytes": size for name, size in weights.items()} | {"least_bytes": least},
        f"files as the source lists them, else weights by arithmetic; {steps.source}",
    )
    medium, why = _medium(models, slo, page_cache)
    plan = ModelDiskPlan(
        size_bytes=size.value,
        least_bytes=least,
        medium=medium.id,
        medium_name=medium.name,
        read_gb_per_s=medium.gb_per_s,
    )
    return plan, {"size_bytes": size, "medium": why}


def _medium(models: Sequence[Chosen], slo: SloSpec, page_cache: int) -> tuple[Disk, Choice[str]]:
    """Return the slowest disk with which a start of all models on it is in time."""
    size = sum(map(files_bytes, models)) / 10**9
    rest = max(map(_rest_s, models))
    budget = slo.cold_start.seconds - rest if slo.cold_start else None
    known: dict[str, Scalar] = {"files_gb": size, "beside_load_s": rest}
    disks = model_disks()
    loads_s = {disk.id: _load_s(models, disk, page_cache) for disk in disks}
    if slo.cold_start is None or budget is None:
        found, said = disks[0], "nothing is asked of the cold start"
    elif budget <= 0:
        # The warm-up refuses this, and says with the fastest disk what would do.
        found, said = disks[-1], "no time is left for weights"
    else:
        known["cold_start_s"] = slo.cold_start.seconds
        said = (
            f"a cold start of {slo.cold_start} leaves {budget:.0f} s beside start and proving for "
            f"{size:.1f} GB, {size / budget:.2f} GB/s"
        )
        able = [disk for disk in disks if loads_s[disk.id] <= budget]
        if not able:
            fastest = disks[-1]
            nearest = math.ceil(rest + loads_s[fastest.id])
            msg = (
                f"slo.cold_start: {said}, and from the fastest disk ({fastest.name}) they take "
                f"{loads_s[fastest.id]:.0f} s; nearest: {nearest} s"
            )
            raise PlanRefusedError(msg)
        found = able[0]
    load_s = loads_s[found.id]
    known |= {"gb_per_s": found.gb_per_s, "load_s": load_s}
    reason = f"{said}; {found.name} reads {found.gb_per_s:g}, and they take {load_s:.0f} s"
    return found, Choice(found.id, reason, known, found.source)


def _load_s(models: Sequence[Chosen], disk: Disk, page_cache: int) -> float:
    """Return the seconds to read all of them: replicas of one model that start together share."""
    jobs = (load_job(model, disk.gb_per_s, page_cache) for model in models)
    return sum(choose_load(job).load.cold_s for job in jobs)


def _rest_s(model: Chosen) -> float:
    """Return the seconds of a start that do not depend on the disk."""
    fit = model.offer.fit
    probes = choose_probes(
        model.wanted.callers, RooflineSpeed(model.offer.roofline), slots=fit.concurrency
    )
    engine = engine_times(model, model.offer.streams, compiled=True, weights_s=0)
    return engine.total + service_start().total_s + sum(probe.seconds for probe in probes)
