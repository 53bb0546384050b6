"""The fields of a chat completion request that OpenAI documents, as far as their form goes.

Engines differ in what they say of a field of the wrong form: some call it their own failure.
What is not listed here passes: it is the engine's own.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["ChatFields"]


class _Fields(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)


class _TextPart(_Fields):
    # No images: their URLs would be opened by the engine, inside the site.
    type: Literal["text"] = Field(description="text is what is read here")
    text: str = Field(description="the text")


class _Called(_Fields):
    name: str = Field(description="name of the function")
    arguments: str = Field(description="JSON as text")


class _ToolCall(_Fields):
    type: Literal["function"] = Field(description="function is what is known here")
    function: _Called = Field(description="what was called")


class _Message(_Fields):
    role: Annotated[str, Field(min_length=1)] = Field(description="system, user, assistant or tool")
    content: str | list[_TextPart] | None = None
    tool_calls: list[_ToolCall] | None = None


class _Function(_Fields):
    name: str = Field(description="name of the function")
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Tool(_Fields):
    type: Literal["function"] = Field(description="function is what is known here")
    function: _Function = Field(description="what may be called")


class _StreamOptions(_Fields):
    include_usage: bool | None = None


class _ResponseFormat(_Fields):
    type: Literal["text", "json_object", "json_schema"] = Field(description="form of the answer")


class ChatFields(_Fields):
    """One request; model and length are the gate's to check."""

    messages: list[_Message] = Field(min_length=1, description="the conversation")
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, ge=0, le=1)
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    n: int | None = Field(default=None, ge=1)
    seed: int | None = None
    stop: str | list[str] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = Field(default=None, ge=0)
    tools: list[_Tool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    response_format: _ResponseFormat | None = None
    user: str | None = None
