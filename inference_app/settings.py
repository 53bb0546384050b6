"""Settings of one service, read once from a JSON file.

The control side builds the same models (they need pydantic alone) and writes the file, so that a
wrong field fails before it reaches a host. Units are in the names; every time is in seconds.
"""

import json
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, NoReturn, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from inference_app.errors import SettingsError
from inference_app.problems import problems, read_json, shown, written

__all__ = [
    "AddressSettings",
    "EngineKind",
    "EngineSettings",
    "LimitSettings",
    "ModelSettings",
    "ServiceSettings",
    "TimeoutSettings",
    "TlsSettings",
    "WarmupSettings",
    "WarmupShape",
]


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


def _disagree(path: str, found: object, needed: str) -> NoReturn:
    said = f"found {shown(found)}; needed {needed}"
    raise PydanticCustomError("disagree", "{said}", {"said": said, "path": path})


def _is_address(host: str) -> str:
    try:
        ip_address(host)
    except ValueError:
        said = f"found {shown(host)}; needed an IP address"
        raise PydanticCustomError("address", "{said}", {"said": said}) from None
    return host


class ModelSettings(_Settings):
    """The weights that are served and the name that clients ask for."""

    name: str = Field(min_length=1, description="name in the API, for example chat")
    path: Path = Field(description="weights on this host: one GGUF file")
    size_bytes: int = Field(gt=0, description="of the file of weights")
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$", description="of the file of weights")


class EngineKind(StrEnum):
    """The engines that have a launcher."""

    LLAMACPP = "llamacpp"
    FAKE = "fake"


class EngineSettings(_Settings):
    """How the engine child is started."""

    kind: EngineKind = Field(description="which launcher")
    context_tokens: int = Field(gt=0, description="per request; the engine holds slots times this")
    slots: int = Field(gt=0, description="requests generated at the same time")
    threads: int = Field(gt=0, description="for computing")
    batch_tokens: int = Field(default=128, gt=0, description="prefill step; bounds cancel latency")
    options: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="what only this kind of engine knows"
    )


class AddressSettings(_Settings):
    """Where a listener binds."""

    host: Annotated[str, AfterValidator(_is_address)] = Field(description="IP address")
    port: int = Field(ge=0, le=65535, description="0: the kernel picks one (tests)")


class TlsSettings(_Settings):
    """Files of mutual TLS in PEM form; both ports then take clients of ``client_ca`` alone."""

    certificate: Path
    key: Path
    client_ca: Path


class WarmupShape(_Settings):
    """One kind of request that users send."""

    prompt_tokens: int = Field(gt=0, description="length of the prompt")
    output_tokens: int = Field(gt=0, description="length of the answer")
    stream: bool = True
    concurrency: int = Field(default=1, gt=0)


class WarmupSettings(_Settings):
    """What proves that a replica is warm."""

    shapes: list[WarmupShape] = Field(min_length=1, description="requests that users send")
    window: int = Field(default=3, ge=2, description="the last K probes of a shape must agree")
    ratio: float = Field(
        default=1.5, gt=1, description="each within this factor of their running median"
    )
    max_probes: int = Field(default=12, description="per shape, then the start has failed")
    budget_s: float = Field(gt=0, description="from process start to ready")

    @model_validator(mode="after")
    def _window_fits(self) -> Self:
        if self.max_probes < self.window:
            _disagree("warmup.max_probes", self.max_probes, f"at least window ({self.window})")
        return self


class LimitSettings(_Settings):
    """What one request and all of them together may ask for."""

    max_output_tokens: int = Field(gt=0, description="length of the longest answer")
    max_body_bytes: int = Field(default=4 * 1024 * 1024, gt=0)
    max_in_flight: int = Field(gt=0, description="more is answered 429 with Retry-After")
    max_in_flight_per_key: int | None = Field(
        default=None, gt=0, description="of one API key; none: what others leave"
    )
    min_free_bytes: int = Field(
        default=128 * 1024 * 1024,
        ge=0,
        description="memory below which requests are answered 503; 0: never",
    )


class TimeoutSettings(_Settings):
    """This service's links of the timeout chain that the planner solved."""

    generation_s: float = Field(gt=0, description="longest a generation may hold its slot")
    keep_alive_s: float = Field(gt=0, description="idle connections; longer than the proxy's")
    probe_interval_s: float = Field(gt=0, description="how often the proxy asks /readyz")
    drain_s: float = Field(gt=0, description="in-flight work may end within this after SIGTERM")


class ServiceSettings(_Settings):
    """Everything one service needs to start."""

    revision: str = Field(description="identity of weights, code and settings together")
    model: ModelSettings = Field(description="the weights and their name")
    engine: EngineSettings = Field(description="how the engine is started")
    traffic: AddressSettings = Field(description="where clients are answered")
    admin: AddressSettings = Field(description="where health and metrics are")
    tls: TlsSettings | None = Field(default=None, description="none: plain HTTP, on loopback alone")
    warmup: WarmupSettings = Field(description="what proves that the replica is warm")
    limits: LimitSettings = Field(description="what requests may ask for")
    timeouts: TimeoutSettings = Field(description="this service's links of the chain")
    state_dir: Path = Field(description="ledgers of past starts; writable")

    @model_validator(mode="after")
    def _shapes_fit(self) -> Self:
        held, limits = self.engine.context_tokens, self.limits
        for number, shape in enumerate(self.warmup.shapes):
            at = f"warmup.shapes[{number}]"
            if (asked := shape.prompt_tokens + shape.output_tokens) > held:
                needed = f"at most context_tokens ({held}) with output_tokens, which makes {asked}"
                _disagree(f"{at}.prompt_tokens", shape.prompt_tokens, needed)
            if shape.output_tokens > (most := limits.max_output_tokens):
                needed = f"at most max_output_tokens ({most})"
                _disagree(f"{at}.output_tokens", shape.output_tokens, needed)
            if shape.concurrency > (most := limits.max_in_flight):
                _disagree(f"{at}.concurrency", shape.concurrency, f"at most max_in_flight ({most})")
        return self

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a settings file.

        Raises:
            SettingsError: one line with every wrong field, what was found and what is needed.
        """
        try:
            value = read_json(path.read_bytes())
        except OSError as error:
            msg = f"settings {path}: {error.strerror}; needed a readable JSON file"
            raise SettingsError(msg) from error
        except ValueError as error:
            msg = f"settings {path}: {error}; needed one JSON object"
            raise SettingsError(msg) from error
        if not isinstance(value, dict):
            msg = f"settings {path}: found {shown(value)}; needed one JSON object"
            raise SettingsError(msg)
        try:
            # Strict, as JSON has types: "2" and true are mistakes rather than 2 and 1.
            return cls.model_validate_json(json.dumps(value), strict=True)
        except ValidationError as error:
            said = problems(error, cls, value).items()
            lines = "; ".join(f"{written(where) or 'file'}: {what}" for where, what in said)
            msg = f"settings {path}: {lines}"
            raise SettingsError(msg) from error
