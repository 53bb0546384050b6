"""Settings of one service, read once from a JSON file.

The control side builds the same models (they need pydantic alone) and writes the file, so that a
wrong field fails before it reaches a host. Units are in the names; every time is in seconds.
"""

from enum import StrEnum
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from inference_app.errors import SettingsError

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
    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelSettings(_Settings):
    """The weights that are served and the name that clients ask for."""

    name: str = Field(description="name in the API, for example chat")
    path: Path = Field(description="weights on this host: one GGUF file")
    size_bytes: int = Field(gt=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class EngineKind(StrEnum):
    """The engines that have a launcher."""

    LLAMACPP = "llamacpp"
    FAKE = "fake"


class EngineSettings(_Settings):
    """How the engine child is started."""

    kind: EngineKind
    context_tokens: int = Field(gt=0, description="per request; the engine holds slots times this")
    slots: int = Field(gt=0, description="requests generated at the same time")
    threads: int = Field(gt=0)
    batch_tokens: int = Field(default=128, gt=0, description="prefill step; bounds cancel latency")
    options: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="what only this kind of engine knows"
    )


class AddressSettings(_Settings):
    """Where a listener binds."""

    host: str
    port: int = Field(ge=0, le=65535, description="0: the kernel picks one (tests)")


class TlsSettings(_Settings):
    """Files of mutual TLS in PEM form; both ports then take clients of ``client_ca`` alone."""

    certificate: Path
    key: Path
    client_ca: Path


class WarmupShape(_Settings):
    """One kind of request that users send."""

    prompt_tokens: int = Field(gt=0)
    output_tokens: int = Field(gt=0)
    stream: bool = True
    concurrency: int = Field(default=1, gt=0)


class WarmupSettings(_Settings):
    """What proves that a replica is warm."""

    shapes: list[WarmupShape] = Field(min_length=1)
    window: int = Field(default=3, ge=2, description="the last K probes of a shape must agree")
    ratio: float = Field(
        default=1.5, gt=1, description="each within this factor of their running median"
    )
    max_probes: int = Field(default=12, description="per shape, then the start has failed")
    budget_s: float = Field(gt=0, description="from process start to ready")

    @model_validator(mode="after")
    def _window_fits(self) -> Self:
        if self.max_probes < self.window:
            msg = f"max_probes is {self.max_probes}; needed: at least window ({self.window})"
            raise ValueError(msg)
        return self


class LimitSettings(_Settings):
    """What one request and all of them together may ask for."""

    max_output_tokens: int = Field(gt=0)
    max_body_bytes: int = Field(default=4 * 1024 * 1024, gt=0)
    max_in_flight: int = Field(gt=0, description="more is answered 429 with Retry-After")


class TimeoutSettings(_Settings):
    """This service's links of the timeout chain that the planner solved."""

    generation_s: float = Field(gt=0, description="longest a generation may hold its slot")
    keep_alive_s: float = Field(gt=0, description="idle connections; longer than the proxy's")
    probe_interval_s: float = Field(gt=0, description="how often the proxy asks /readyz")
    drain_s: float = Field(gt=0, description="in-flight work may end within this after SIGTERM")


class ServiceSettings(_Settings):
    """Everything one service needs to start."""

    revision: str = Field(description="identity of weights, code and settings together")
    model: ModelSettings
    engine: EngineSettings
    traffic: AddressSettings
    admin: AddressSettings
    tls: TlsSettings | None = Field(default=None, description="none: plain HTTP, on loopback alone")
    warmup: WarmupSettings
    limits: LimitSettings
    timeouts: TimeoutSettings
    state_dir: Path = Field(description="ledgers of past starts; writable")

    @model_validator(mode="after")
    def _shapes_fit(self) -> Self:
        for number, shape in enumerate(self.warmup.shapes):
            asked, held = shape.prompt_tokens + shape.output_tokens, self.engine.context_tokens
            limits = self.limits
            for what, found, most in (
                ("prompt_tokens + output_tokens", asked, held),
                ("output_tokens", shape.output_tokens, limits.max_output_tokens),
                ("concurrency", shape.concurrency, limits.max_in_flight),
            ):
                if found > most:
                    msg = f"warmup.shapes.{number}: {what} is {found}; needed: at most {most}"
                    raise ValueError(msg)
        return self

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a settings file.

        Raises:
            SettingsError: one line with every wrong field, what was found and what is needed.
        """
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            msg = f"settings {path}: {error.strerror}"
            raise SettingsError(msg) from error
        except ValidationError as error:
            problems = "; ".join(
                f"{'.'.join(map(str, item['loc'])) or 'file'}: {item['msg']}"
                for item in error.errors()
            )
            msg = f"settings {path}: {problems}"
            raise SettingsError(msg) from error
