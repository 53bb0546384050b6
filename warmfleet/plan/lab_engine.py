"""Engine and precision of the lab's model: what its one file of weights offers."""

from warmfleet.catalog.models import Catalog, Engine
from warmfleet.errors import PlanRefusedError
from warmfleet.plan.choice import Choice
from warmfleet.plan.lab_weights import LabWeights
from warmfleet.spec.models import ModelSpec

__all__ = ["choose_engine", "choose_precision", "model_must_offer"]

_KV_DTYPE = "fp16"
"""llama.cpp's default, which the lab's figures were measured with."""


def model_must_offer(model: ModelSpec, found: LabWeights) -> None:
    """Refuse what the weights cannot do.

    Raises:
        PlanRefusedError: task, precision, cache type or context; the nearest one is named.
    """
    shape, weights = found.shape, found.weights
    if model.task not in shape.tasks:
        offered = " or ".join(shape.tasks)
        msg = f"models[0].task: {shape.id} is not made for {model.task}; nearest: {offered}"
        raise PlanRefusedError(msg)
    if model.precision not in {"auto", weights.precision}:
        msg = (
            f"models[0].precision: asked {model.precision}, but {weights.file} is "
            f"{weights.precision}; nearest: {weights.precision} (or auto)"
        )
        raise PlanRefusedError(msg)
    if model.kv_dtype not in {"auto", _KV_DTYPE}:
        msg = (
            f"models[0].kv_dtype: asked {model.kv_dtype}, but the lab's engine keeps {_KV_DTYPE}; "
            f"nearest: {_KV_DTYPE} (or auto)"
        )
        raise PlanRefusedError(msg)
    trained = shape.architecture.max_context
    missing = model.context.tokens - trained
    if missing > 0:
        msg = (
            f"models[0].context: asked {model.context}, but {shape.id} was trained for "
            f"{trained} tokens ({missing} missing); nearest: {trained}"
        )
        raise PlanRefusedError(msg)


def choose_engine(
    model: ModelSpec, found: LabWeights, catalog: Catalog
) -> tuple[Engine, Choice[str]]:
    """Choose an engine that reads the weights' format.

    Raises:
        PlanRefusedError: none does, or not the one that was asked for.
    """
    asked, file_format = model.engine.kind, found.weights.format
    # The fake engine serves tests: it must be asked for by name.
    able = [row for row in catalog.engines if file_format in row.formats and row.kind != "fake"]
    if asked != "auto":
        able = [row for row in catalog.engines if file_format in row.formats and row.kind == asked]
    if not able:
        known = sorted({form for row in catalog.engines for form in row.formats})
        msg = (
            f"models[0].engine: no engine for weights in {file_format} (asked {asked}); "
            f"nearest: weights in {' or '.join(known)}"
        )
        raise PlanRefusedError(msg)
    engine = able[0]
    reason = f"reads {file_format}, the format of the weights"
    if asked != "auto":
        reason = f"asked for; {reason}"
    return engine, Choice(engine.kind, reason, {"format": file_format}, engine.source)


def choose_precision(model: ModelSpec, found: LabWeights) -> Choice[str]:
    """Choose the precision: the file has one."""
    offered = found.weights.precision
    reason = "asked for" if model.precision != "auto" else "the highest that the source offers"
    parameters = found.shape.architecture.parameters
    inputs = {"size_bytes": found.weights.size_bytes, "parameters": parameters}
    return Choice(offered, reason, inputs, found.weights.source)
