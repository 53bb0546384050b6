"""The fields of an embedding request that OpenAI documents."""

from typing import Literal

from pydantic import Field

from inference_app.completion_schema import Prompts
from inference_app.request_fields import Fields

__all__ = ["EmbeddingFields"]


class EmbeddingFields(Fields):
    """One request; the model is the gate's to check."""

    input: Prompts = Field(description="what to embed")
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: int | None = Field(default=None, ge=1)
    user: str | None = None
