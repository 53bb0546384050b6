"""Asks an engine how long a prompt is, before the request waits for its turn.

A prompt that is too long would else be told so by the engine after it has waited.
"""

import json
from typing import Any, Final

from inference_app.api_errors import ApiError
from inference_app.endpoints import CHAT, COMPLETIONS
from inference_app.engine_client import EngineClient
from inference_app.generation_request import GenerationRequest

__all__ = ["check_context"]

_CHAT_COUNT: Final = f"{CHAT.path}/input_tokens"


async def check_context(request: GenerationRequest, engine: EngineClient, context: int) -> None:
    """Refuse a prompt that the engine's own tokenizer finds too long.

    An engine that does not count is asked in vain; it refuses by itself later.

    Args:
        request: what would wait.
        engine: counts as llama.cpp's server does.
        context: tokens that one request may hold.

    Raises:
        ApiError: 400, it does not fit; 503, the engine ended over it.
    """
    if len(request.body) <= context:  # a token is a byte or more
        return
    tokens = await _count(request, engine, context)
    if tokens is not None and tokens >= context:
        raise ApiError(
            400,
            f"the prompt is {tokens} tokens long; needed: less than the {context} that the model "
            "holds with its answer",
            param=request.endpoint.prompt,
            code="context_length_exceeded",
        )


async def _count(request: GenerationRequest, engine: EngineClient, context: int) -> int | None:
    if request.endpoint is CHAT:
        found = await engine.ask(_CHAT_COUNT, request.body)
        return _whole(found, "input_tokens")
    if request.endpoint is COMPLETIONS:
        prompt = json.loads(request.body)["prompt"]
        several = isinstance(prompt, list) and not isinstance(prompt[0], int)
        long = [each for each in (prompt if several else [prompt]) if _bytes(each) > context]
        counts = [await _length(each, engine) for each in long]
        return max((count for count in counts if count is not None), default=None)
    return None


def _bytes(prompt: str | list[int]) -> int:
    # Half of a surrogate pair is JSON, and the engine's to refuse.
    return len(prompt.encode(errors="surrogatepass")) if isinstance(prompt, str) else len(prompt)


async def _length(prompt: str | list[int], engine: EngineClient) -> int | None:
    if isinstance(prompt, list):
        return len(prompt)
    body = json.dumps({"content": prompt, "add_special": True}).encode()
    found = await engine.ask("/tokenize", body)
    tokens = found.get("tokens") if isinstance(found, dict) else None
    return len(tokens) if isinstance(tokens, list) else None


def _whole(found: Any, name: str) -> int | None:
    value = found.get(name) if isinstance(found, dict) else None
    return value if isinstance(value, int) else None
