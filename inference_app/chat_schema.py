"""The fields of a chat completion request that OpenAI documents."""

from typing import Annotated, Any, Literal

from pydantic import Field

from inference_app.request_fields import Fields, SamplingFields

__all__ = ["ChatFields"]


class _TextPart(Fields):
    # No images: their URLs would be opened by the engine, inside the site.
    type: Literal["text"] = Field(description="text is what is read here")
    text: str = Field(description="the text")


class _Called(Fields):
    name: str = Field(description="name of the function")
    arguments: str = Field(description="JSON as text")


class _ToolCall(Fields):
    type: Literal["function"] = Field(description="function is what is known here")
    function: _Called = Field(description="what was called")


class _Message(Fields):
    role: Annotated[str, Field(min_length=1)] = Field(description="system, user, assistant or tool")
    content: str | list[_TextPart] | None = None
    tool_calls: list[_ToolCall] | None = None


class _Function(Fields):
    name: str = Field(description="name of the function")
    description: str | None = None
    parameters: dict[str, Any] | None = None


class _Tool(Fields):
    type: Literal["function"] = Field(description="function is what is known here")
    function: _Function = Field(description="what may be called")


class _ResponseFormat(Fields):
    type: Literal["text", "json_object", "json_schema"] = Field(description="form of the answer")


class ChatFields(SamplingFields):
    """One request; model and length are the gate's to check."""

    messages: Annotated[list[_Message], Field(fail_fast=True)] = Field(
        min_length=1, description="the conversation"
    )
    logprobs: bool | None = None
    top_logprobs: int | None = Field(default=None, ge=0)
    tools: Annotated[list[_Tool], Field(fail_fast=True)] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    response_format: _ResponseFormat | None = None
