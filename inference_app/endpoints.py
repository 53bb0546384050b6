"""The requests that go to the engine, and what differs between them."""

from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel

from inference_app.assembly import Assembly, ChatAssembly, CompletionAssembly
from inference_app.chat_schema import ChatFields
from inference_app.completion_schema import CompletionFields
from inference_app.embedding_schema import EmbeddingFields

__all__ = ["CHAT", "COMPLETIONS", "EMBEDDINGS", "ENDPOINTS", "Endpoint"]


@dataclass(frozen=True)
class Endpoint:
    """One kind of request.

    Attributes:
        path: in OpenAI's API, and on engines.
        form: its documented fields.
        summary: what it does, in one line.
        assembly: puts a stream together; None where an engine answers in one piece.
        prompt: the field with what the model reads.
    """

    path: str
    form: type[BaseModel]
    summary: str
    assembly: type[Assembly] | None
    prompt: str


CHAT: Final = Endpoint(
    "/v1/chat/completions", ChatFields, "Answer a conversation", ChatAssembly, "messages"
)
COMPLETIONS: Final = Endpoint(
    "/v1/completions", CompletionFields, "Go on with a text", CompletionAssembly, "prompt"
)
EMBEDDINGS: Final = Endpoint(
    "/v1/embeddings", EmbeddingFields, "Turn texts into vectors", None, "input"
)
ENDPOINTS: Final = (CHAT, COMPLETIONS, EMBEDDINGS)
