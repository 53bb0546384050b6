"""The cold-start ledger of a replica, as the control side reads it."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from warmfleet.plan.start_models import warmup_label

__all__ = ["SCHEMA_VERSION", "Ledger", "Phase"]

SCHEMA_VERSION = 1


class _Document(BaseModel):
    # A host may run a newer service, whose ledger says more: that is no reason to show nothing.
    model_config = ConfigDict(frozen=True, extra="ignore")


class Phase(_Document):
    """One stretch of a start; seconds since the process began."""

    name: str
    start_s: float = Field(ge=0)
    duration_s: float = Field(ge=0)
    detail: dict[str, object] = Field(default_factory=dict)

    @property
    def label(self) -> str:
        """Name, for a warm-up with its shape: the same phase has the same label on each replica."""
        detail = self.detail
        if not {"prompt_tokens", "output_tokens", "concurrency"} <= detail.keys():
            return self.name
        return warmup_label(
            self.name,
            detail["prompt_tokens"],
            detail["output_tokens"],
            detail["concurrency"],
            stream=bool(detail.get("stream")),
        )


class Ledger(_Document):
    """Where each second between process start and ready went; durations sum to ``total_s``."""

    schema_version: Literal[1]
    model: str
    revision: str
    host: str
    state: str
    started_at: datetime
    phases: list[Phase]
    total_s: float = Field(ge=0)
    failure: str | None = None
