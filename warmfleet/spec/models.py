"""The spec: what a person asks for. Everything said is kept or refused; the rest is planned."""

from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from inference_app.problems import nearest
from warmfleet.spec.fields import Name, Positive, SpecModel, checked, disagree, unique
from warmfleet.spec.network import Encoding, NetworkSpec, Script
from warmfleet.spec.placement import Placement
from warmfleet.spec.sources import SourceSpec
from warmfleet.spec.timeouts import TimeoutsSpec
from warmfleet.spec.units import ByteSize, Duration, Percentage, Ratio, TokenCount
from warmfleet.spec.users import UsersSource, users_agree

__all__ = [
    "CallerSpec",
    "EngineSpec",
    "FleetSpec",
    "ModelSpec",
    "SloSpec",
    "TrafficSpec",
    "UpdatesSpec",
]

Task = Literal[
    "chat", "summary", "code", "math", "extraction", "instructions", "embedding", "classification"
]  # fmt: skip

Precision = Literal[
    "auto", "bf16", "fp16", "fp8", "int8", "gptq8", "awq", "gptq", "w4a16", "nf4", "nvfp4", "mxfp4",
    "f16", "q8_0", "q6_k", "q5_k_m", "q5_k_s", "q4_k_m", "q4_k_s", "q4_1", "q4_0", "q3_k_m", "q2_k",
]  # fmt: skip

KvDtype = Literal["auto", "fp16", "bf16", "fp8", "q8_0", "q4_0"]


class EngineSpec(SpecModel):
    """The engine behind a model; written as a name, or with options."""

    kind: Literal["auto", "llamacpp", "vllm", "fake"] = Field(
        default="auto",
        description="auto chooses by the weights' format and the card; fake makes up its answers "
        "(tests only)",
    )
    options: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="options of the fake engine"
    )

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, found: Any) -> Any:
        return {"kind": found} if isinstance(found, str) else found

    @model_validator(mode="after")
    def _only_fake_has_options(self) -> Self:
        if self.options and self.kind != "fake":
            said = f"found options with engine {self.kind}; needed kind fake, or no options"
            raise PydanticCustomError("bound", "{said}", {"said": said})
        return self

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        mapping = handler.resolve_ref_schema(handler(schema))
        names = {key: mapping["properties"]["kind"][key] for key in ("enum", "type")}
        return {"anyOf": [names, mapping], "description": mapping["description"]}


class ModelSpec(SpecModel):
    """One model to serve."""

    name: Name = Field(description="clients ask for the model by this name")
    source: SourceSpec = Field(description="where the weights come from")
    task: Task = Field(
        description="what the model is used for; instructions: exact ones, as agents and tools need"
    )
    precision: Precision = Field(
        default="auto",
        description="of the weights; auto: the highest that the source offers and that fits",
    )
    context: Annotated[TokenCount, Positive] = Field(
        description="tokens of one request, prompt and answer together"
    )
    max_output: Annotated[TokenCount, Positive] = Field(description="tokens of one answer at most")
    engine: EngineSpec = Field(
        default=EngineSpec(), description="auto, llamacpp, vllm, or fake (tests)"
    )
    kv_dtype: KvDtype = Field(
        default="auto", description="of the cache; auto: 16 bit, which costs no quality"
    )
    accept_quality_loss: bool = Field(
        default=False,
        description="allow less than 8 bit for a task that loses most by published figures",
    )


class CallerSpec(SpecModel):
    """One kind of client and the requests it sends."""

    name: Name = Field(description="who calls")
    peak_qps: float = Field(
        gt=0, le=1e6, allow_inf_nan=False, description="requests a second in the busiest minute"
    )
    prompt_tokens: int = Field(gt=0, description="prompt length of a typical request")
    output_tokens: int = Field(gt=0, description="length of a typical answer")
    stream: bool = Field(description="true when answers are streamed token by token")
    model: Name | None = Field(
        default=None, description="the model that is called; needed where there are several"
    )
    response: Annotated[ByteSize, Positive] | None = Field(
        default=None, description="measured size of an answer; estimated from the tokens if absent"
    )
    request: Annotated[ByteSize, Positive] | None = Field(
        default=None,
        description="measured size of a request, with what it uploads; estimated if absent",
    )
    keep_alive: bool = Field(
        default=True, description="false when every request opens a connection of its own"
    )
    script: Script = Field(
        default="latin", description="of prompts and answers; cjk: Chinese, Japanese, Korean"
    )
    encoding: Encoding = Field(default="float", description="of embeddings in an answer")


class TrafficSpec(SpecModel):
    """All load, over all callers."""

    callers: tuple[CallerSpec, ...] = Field(min_length=1, description="who calls, and how")
    mean_of_peak: (
        Annotated[
            Percentage, checked(lambda p: 0 < p.value <= 100, "more than 0% and at most 100%")
        ]
        | None
    ) = Field(
        default=None,
        description="mean load of a month against its busiest minute; the billing of the line "
        "follows from it; as of large public services (34%) if absent",
    )


class SloSpec(SpecModel):
    """What the endpoint is held to."""

    first_request: Annotated[Ratio, checked(lambda r: r.value >= 1, "1x or more")] = Field(
        default=Ratio.parse("1.2x"), description="the first request against a steady one"
    )
    ttft_p95: Annotated[Duration, Positive] | None = Field(
        default=None, description="time to the first token, 95th percentile"
    )
    rtt_p95: Annotated[Duration, Positive] | None = Field(
        default=None,
        description="round-trip time within which 95 % of the users reach their site; more than "
        "one site is planned where one is too far from too many",
    )
    cold_start: Annotated[Duration, Positive] | None = Field(
        default=None,
        description="process start to warm after a reboot, artefacts kept; 60 s in the lab, "
        "else planned if absent",
    )
    availability: Annotated[
        Percentage, checked(lambda p: 0 < p.value < 100, "more than 0% and less than 100%")
    ] = Field(default=Percentage.parse("99.9%"), description="share of the time")


class UpdatesSpec(SpecModel):
    """What operations and updates must leave in place."""

    floor: int | None = Field(
        default=None,
        ge=0,
        description="ready replicas of each model that an operation must leave; if absent 1 in the "
        "lab, on servers those that carry the peak, and never more than an operation can leave",
    )
    strategy: Literal["auto", "blue_green", "side_by_side", "drain_then_swap"] = Field(
        default="auto",
        description="how a new version takes over; auto: on a second set where there are cards for "
        "one, else what costs users least; blue_green: on cards of its own; side_by_side: on the "
        "same cards; drain_then_swap: the old one leaves first",
    )


class FleetSpec(SpecModel):
    """One environment: models, load, users, promises, and where the hosts come from."""

    model_config = ConfigDict(title="Warmfleet environment")

    apiVersion: Literal["warmfleet/v1"] = Field(  # noqa: N815 - the name that YAML users expect
        description="version of this schema"
    )
    name: Name = Field(description="name of the environment, and of the file")
    models: tuple[ModelSpec, ...] = Field(min_length=1, description="what to serve")
    traffic: TrafficSpec = Field(description="the load to be ready for")
    users: UsersSource = Field(
        description="where the users are: a list, or a file in which they are counted"
    )
    slo: SloSpec = Field(default=SloSpec(), description="what the endpoint is held to")
    timeouts: TimeoutsSpec = Field(
        default=TimeoutsSpec(),
        description="limits that something else dictates; the others follow from output and speed",
    )
    network: NetworkSpec = Field(
        default=NetworkSpec(), description="the line between users and servers"
    )
    placement: Placement = Field(description="where the hosts come from")
    updates: UpdatesSpec = Field(
        default=UpdatesSpec(), description="what operations and updates must leave in place"
    )

    @model_validator(mode="after")
    def _fields_agree(self) -> Self:
        unique("models", "name", (model.name for model in self.models))
        unique("traffic.callers", "name", (caller.name for caller in self.traffic.callers))
        users_agree(self.users)
        self._models_are_called()
        self._requests_fit()
        return self

    def called(self, caller: CallerSpec) -> ModelSpec:
        """Return the model that a caller calls."""
        return next(model for model in self.models if caller.model in {None, model.name})

    def _models_are_called(self) -> None:
        names = [model.name for model in self.models]
        for index, caller in enumerate(self.traffic.callers):
            at = f"traffic.callers[{index}].model"
            if caller.model is None and len(names) > 1:
                disagree(at, f"missing; needed which of the models: {', '.join(names)}")
            if caller.model is not None and caller.model not in names:
                hint = nearest(caller.model, names)
                disagree(at, f"found {caller.model!r}; needed one of: {', '.join(names)}{hint}")

    def _requests_fit(self) -> None:
        for index, model in enumerate(self.models):
            if model.max_output >= model.context:
                at = f"models[{index}].max_output"
                disagree(at, f"found {model.max_output}; needed less than context {model.context}")
        for index, caller in enumerate(self.traffic.callers):
            at = f"traffic.callers[{index}]"
            model = self.called(caller)
            context, longest = model.context.tokens, model.max_output.tokens
            if caller.output_tokens > longest:
                said = f"found {caller.output_tokens}; needed at most max_output ({longest})"
                disagree(f"{at}.output_tokens", said)
            if (total := caller.prompt_tokens + caller.output_tokens) > context:
                said = f"with output_tokens makes {total}; needed at most context ({context})"
                disagree(f"{at}.prompt_tokens", said)
