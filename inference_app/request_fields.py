"""What the documented fields of all requests share, as far as their form goes.

Engines differ in what they say of a field of the wrong form: some call it their own failure.
What is not listed here passes: it is the engine's own.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Fields", "SamplingFields", "TextFormat"]


class Fields(BaseModel):
    """A mapping of a request: strict, since JSON has types, and open to an engine's own fields."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)


class _StreamOptions(Fields):
    include_usage: bool | None = None


class SamplingFields(Fields):
    """How an answer is generated, and in which form it comes."""

    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, ge=0, le=1)
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    n: int | None = Field(default=None, ge=1)
    seed: int | None = None
    stop: str | Annotated[list[str], Field(fail_fast=True)] | None = None
    user: str | None = None


class TextFormat(Fields):
    """The form that an answer without a grammar has."""

    type: Literal["text"] = Field(description="text; a grammar is for chat completions")
