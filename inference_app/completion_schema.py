"""The fields of a text completion request that OpenAI documents."""

from typing import Annotated, Literal

from pydantic import Field

from inference_app.request_fields import SamplingFields, TextFormat

__all__ = ["CompletionFields", "Prompts"]

_Some = Field(min_length=1, fail_fast=True)
_Tokens = Annotated[list[int], _Some]
_Texts = Annotated[list[str], _Some]
Prompts = str | _Texts | _Tokens | Annotated[list[_Tokens], _Some]
"""One text, several texts, one text as its tokens, or several. The first mistake is enough: a body
has room for a million."""


class CompletionFields(SamplingFields):
    """One request; model and length are the gate's to check.

    An engine that does not know echo, suffix or the best of several would answer without a word.
    """

    prompt: Prompts = Field(description="the text to go on with")
    logprobs: int | None = Field(default=None, ge=0)
    echo: Literal[False] | None = None
    suffix: Literal[""] | None = None
    best_of: Literal[1] | None = None
    response_format: TextFormat | None = None
