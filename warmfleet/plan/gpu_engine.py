"""Arguments of the engine: each follows from the sizing and the load of its replica."""

from warmfleet.plan.gpu_engine_inputs import EngineInputs, PlannedEngine
from warmfleet.plan.gpu_llamacpp import plan_llamacpp
from warmfleet.plan.gpu_vllm import plan_vllm

__all__ = ["plan_engine"]


def plan_engine(inputs: EngineInputs) -> PlannedEngine:
    """Derive the arguments of the engine that the memory was worked out for."""
    if inputs.memory.engine == "llamacpp":
        return plan_llamacpp(inputs)
    return plan_vllm(inputs)
