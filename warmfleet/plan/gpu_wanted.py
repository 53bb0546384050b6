"""What is wanted of the cards: a model of the spec with its facts, its load and its promises."""

from collections.abc import Mapping

from msgspec import Struct

from warmfleet.catalog.gpu import Gpu
from warmfleet.errors import PlanRefusedError
from warmfleet.resolve.model_facts import ModelFacts
from warmfleet.sizing.demand import Demand
from warmfleet.sizing.deployment import Promise
from warmfleet.sizing.engine_memory import EngineMemory
from warmfleet.sizing.offer import Asked
from warmfleet.sizing.precision import Precision, find_precision
from warmfleet.sizing.vllm_settings import step_tokens
from warmfleet.spec.models import CallerSpec, FleetSpec, ModelSpec

__all__ = ["Wanted", "wanted_models"]

_READ_ONLY_TASKS = {"embedding", "classification"}
"""One pass over the prompt and no answer tokens."""

_SIXTEEN_BIT = {"bf16", "fp16", "f16"}
_LOWER = ("fp8", "int8", "awq")
"""vLLM brings 16-bit weights to FP8 while it loads; of most models there are repacks in others."""

_GGUF = ("f16", "q8_0", "q4_k_m")
"""What most repacks for llama.cpp come in."""

_CACHES: Mapping[str, tuple[str, ...]] = {
    "vllm": ("auto", "fp16", "bf16", "fp8"),
    "llamacpp": ("auto", "fp16", "bf16", "q8_0", "q4_0"),
}
"""Types of the cache that engines know: vllm-project/vllm vllm/config/cache.py,
ggml-org/llama.cpp tools/server/README.md."""

_LLAMACPP_STEP_TOKENS = 512


class Wanted(Struct, frozen=True):
    """One model of the spec."""

    index: int
    spec: ModelSpec
    facts: ModelFacts
    callers: tuple[CallerSpec, ...]
    promise: Promise
    peak: float
    """Peak of a second over peak of a minute."""

    @property
    def at(self) -> str:
        """Path of the model in spec and plan."""
        return f"models[{self.index}]"

    @property
    def demands(self) -> tuple[Demand, ...]:
        """The load; what only reads has no answer tokens."""
        answers = self.spec.task not in _READ_ONLY_TASKS
        return tuple(
            Demand(caller.peak_qps, caller.prompt_tokens, caller.output_tokens if answers else 0)
            for caller in self.callers
        )

    @property
    def published(self) -> Precision:
        """Of the weights in the source; 32-bit weights are loaded in 16."""
        found = find_precision(self.facts.precision)
        return find_precision("bf16") if found.id == "fp32" else found

    @property
    def precisions(self) -> tuple[Precision, ...]:
        """The asked one; else what the source has, and what 16-bit weights are brought to."""
        if self.spec.precision != "auto":
            return (find_precision(self.spec.precision),)
        if self.spec.engine.kind == "llamacpp" and not self.published.gguf:
            return tuple(map(find_precision, _GGUF))
        lower = _LOWER if self.published.id in _SIXTEEN_BIT else ()
        return (self.published, *map(find_precision, lower))

    def engine(self, precision: Precision) -> str:
        """Return the engine that serves the format: llama.cpp reads GGUF, vLLM the rest."""
        return "llamacpp" if precision.gguf else "vllm"

    def asked(self, precision: Precision) -> Asked:
        """Return what is asked of the cards with weights in this precision."""

        def engine_on(gpu: Gpu) -> EngineMemory:
            if self.engine(precision) == "llamacpp":
                return EngineMemory(
                    engine="llamacpp",
                    max_batched_tokens=_LLAMACPP_STEP_TOKENS,
                    kv_dtype=self.spec.kv_dtype,
                )
            return EngineMemory(
                max_batched_tokens=step_tokens(gpu.cuda_total_gib),
                kv_dtype=self.spec.kv_dtype,
            )

        return Asked(
            architecture=self.facts.architecture,
            precision=precision,
            demands=self.demands,
            promise=self.promise,
            context=self.spec.context.tokens,
            engine=engine_on,
            peak=self.peak,
        )


def wanted_models(
    spec: FleetSpec, facts: tuple[ModelFacts, ...], peak: float
) -> tuple[Wanted, ...]:
    """Join each model of the spec with its facts.

    Raises:
        PlanRefusedError: a model cannot do its task, its context, or run on the asked engine.
    """
    promise = Promise(
        availability=spec.slo.availability.fraction,
        ttft_p95_s=spec.slo.ttft_p95.seconds if spec.slo.ttft_p95 else None,
    )
    wanted = tuple(
        Wanted(
            index=index,
            spec=model,
            facts=found,
            callers=tuple(c for c in spec.traffic.callers if spec.called(c) is model)
            or (_nobody(model),),
            promise=promise,
            peak=peak,
        )
        for index, (model, found) in enumerate(zip(spec.models, facts, strict=True))
    )
    for one in wanted:
        _must_offer(one)
    return wanted


def _nobody(model: ModelSpec) -> CallerSpec:
    """Return what stands for the callers of a model that nobody calls yet: it must still answer."""
    output = model.max_output.tokens
    return CallerSpec(
        name="nobody",
        peak_qps=1 / 3600,
        prompt_tokens=model.context.tokens - output,
        output_tokens=output,
        stream=True,
    )


def _must_offer(wanted: Wanted) -> None:
    model, found = wanted.spec, wanted.facts
    asked = model.engine.kind
    if asked == "fake":
        msg = f"{wanted.at}.engine: found fake, which is for tests in the lab; nearest: auto"
        raise PlanRefusedError(msg)
    published = wanted.published
    if model.precision not in {"auto", published.id} and published.id not in _SIXTEEN_BIT:
        msg = (
            f"{wanted.at}.precision: asked {model.precision}, but the weights of {found.name} are "
            f"{published.id}; nearest: {published.id} (or auto), or a source in 16 bit"
        )
        raise PlanRefusedError(msg)
    able = wanted.engine(wanted.precisions[0])
    if asked not in {"auto", able}:
        msg = (
            f"{wanted.at}.engine: asked {asked}, but {able} is what serves "
            f"{wanted.precisions[0].id}; nearest: {able} (or auto)"
        )
        raise PlanRefusedError(msg)
    if model.kv_dtype not in _CACHES[able]:
        msg = (
            f"{wanted.at}.kv_dtype: asked {model.kv_dtype}, which {able} does not keep; nearest: "
            f"{' or '.join(_CACHES[able])}"
        )
        raise PlanRefusedError(msg)
    if found.tasks and model.task not in found.tasks:
        msg = (
            f"{wanted.at}.task: {found.name} is not made for {model.task}; nearest: "
            f"{' or '.join(found.tasks)}"
        )
        raise PlanRefusedError(msg)
    longest = found.architecture.max_context
    if (missing := model.context.tokens - longest) > 0:
        msg = (
            f"{wanted.at}.context: asked {model.context}, but {found.name} was trained for "
            f"{longest} tokens ({missing} missing); nearest: {longest}"
        )
        raise PlanRefusedError(msg)
