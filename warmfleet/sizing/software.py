"""Driver, CUDA and build of an engine that run on a card together."""

from msgspec import Struct

from warmfleet.catalog.drivers import (
    Architecture,
    Branch,
    EngineBuild,
    architecture_of,
    branches,
    driver_for,
    engine_builds,
)
from warmfleet.catalog.gpu import Gpu

__all__ = ["Software", "software_for", "unsupported"]


class Software(Struct, frozen=True):
    """What agrees.

    Attributes:
        architecture: generation of the card.
        build: of the engine.
        branch: of the driver.
        least_driver: number of the oldest branch that does.
        newest_driver: number of the newest one; None: any newer one does, too.
    """

    architecture: Architecture
    build: EngineBuild
    branch: Branch
    least_driver: int
    newest_driver: int | None


def software_for(gpu: Gpu, engine: str) -> Software | None:
    """Return the first build of the engine that runs on the card, and its driver.

    None where nothing agrees, or where the catalog has no row for the card: other makers than
    NVIDIA do not count in compute capabilities.
    """
    found = architecture_of(gpu.compute_capability)
    if found is None:
        return None
    for build in engine_builds(engine):
        if not _runs(build, found, gpu):
            continue
        least, newest = driver_for(build.major).driver, found.last_driver
        for branch in branches():
            if branch.number >= least and (newest is None or branch.number <= newest):
                return Software(found, build, branch, least, newest)
    return None


def unsupported(gpu: Gpu, engine: str) -> str | None:
    """Return why nothing that is kept up runs the engine on the card; None where something does."""
    found = architecture_of(gpu.compute_capability)
    builds = engine_builds(engine)
    if found is None or not builds or software_for(gpu, engine) is not None:
        return None
    ends = f"{found.id} (compute capability {gpu.compute_capability})"
    if found.last_cuda is not None:
        ends += f" ends with CUDA {found.last_cuda} and driver R{found.last_driver}"
    others = [
        software.build
        for name in ("vllm", "llamacpp")
        if name != engine and (software := software_for(gpu, name)) is not None
    ]
    nearest = f"; {others[0]} runs on it" if others else ""
    return f"{ends}, and {builds[0]} needs {builds[0].least_capability}{nearest}"


def _runs(build: EngineBuild, card: Architecture, gpu: Gpu) -> bool:
    return (
        float(gpu.compute_capability or 0) >= float(build.least_capability)
        and (card.last_cuda is None or build.major <= card.last_cuda)
        and _version(build.cuda) >= _version(card.first_cuda)
    )


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))
