"""The whole API on the real engine with real weights."""

import asyncio
import hashlib
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from tests.inference_app.support import (
    ReplicaProcess,
    ask_engine,
    eventually,
    replica_process,
    settings_document,
)
from warmfleet.converge.weights import ensure_weights
from warmfleet.plan.lock import read_lock
from warmfleet.project import Project

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own dependencies
    from langchain_openai import ChatOpenAI, OpenAI

pytestmark = [pytest.mark.llamacpp, pytest.mark.timeout(300)]

_SKY: Any = {
    "model": "chat",
    "prompt": "The sky is",
    "max_tokens": 6,
    "temperature": 0,
    "extra_body": {"cache_prompt": False},
}


@pytest.fixture(scope="module")
def replica(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplicaProcess]:
    folder = tmp_path_factory.mktemp("llamacpp-api")
    project = Project(Path(__file__).parents[2] / "stacks")
    weights = ensure_weights(project, read_lock(project.plan_file("lab")).models[0], lambda _: None)
    document = settings_document(folder, embedding=True, pooling_type="mean")
    document["model"] |= {
        "path": str(weights),
        "size_bytes": weights.stat().st_size,
        "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
    }
    document["engine"] |= {"kind": "llamacpp", "batch_tokens": 64}
    document["warmup"] |= {"ratio": 20.0, "budget_s": 120}
    document["timeouts"] |= {"generation_s": 120, "drain_s": 60}
    with replica_process(folder, document) as process:
        process.wait_ready()
        yield process


async def test_texts_streamed_and_whole_agree(client: openai.AsyncOpenAI) -> None:
    whole = await client.completions.create(**_SKY, logprobs=2)
    options: Any = {"stream": True, "stream_options": {"include_usage": True}}
    stream = await client.completions.create(**_SKY, logprobs=2, **options)
    chunks = [chunk async for chunk in stream]
    text = "".join(chunk.choices[0].text for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].text
    assert (chunks[-1].choices, chunks[-1].usage) == ([], whole.usage)
    assert whole.usage is not None
    assert whole.usage.completion_tokens == 6
    found = whole.choices[0].logprobs
    assert found is not None
    assert found.tokens is not None
    assert "".join(found.tokens) == text
    assert found.token_logprobs is not None
    assert all(value is not None and value <= 0 for value in found.token_logprobs)
    assert found.top_logprobs is not None
    assert [len(best) for best in found.top_logprobs] == [2] * 6
    assert found.text_offset is not None
    places = zip(found.text_offset, found.tokens, strict=True)
    assert all(text[at:].startswith(token) for at, token in places)


async def test_several_prompts_at_once(client: openai.AsyncOpenAI) -> None:
    prompts = ["The sky is", "Two and two"]
    fields = {**_SKY, "prompt": prompts}
    whole = await client.completions.create(**fields)
    single = await client.completions.create(**_SKY)
    assert [choice.index for choice in whole.choices] == [0, 1]
    assert whole.choices[0].text == single.choices[0].text
    assert whole.usage is not None
    assert whole.usage.completion_tokens == 12
    texts = ["", ""]
    async for chunk in await client.completions.create(**fields, stream=True):
        for choice in chunk.choices:
            texts[choice.index] += choice.text
    assert texts == [choice.text for choice in whole.choices]


async def test_a_seed_and_an_end(client: openai.AsyncOpenAI) -> None:
    fields = {**_SKY, "temperature": 1.5, "max_tokens": 12}
    first, second = [await client.completions.create(**fields, seed=7) for _ in range(2)]
    assert first.choices[0].text == second.choices[0].text
    text = (await client.completions.create(**_SKY)).choices[0].text
    word = text.split()[1]
    ended = (await client.completions.create(**_SKY, stop=[word])).choices[0]
    assert ended.text == text[: text.index(word)]
    assert ended.finish_reason == "stop"


async def test_embeddings_are_there_beside_texts(client: openai.AsyncOpenAI) -> None:
    found = await client.embeddings.create(model="chat", input=["a river", "a stream", "tax law"])
    river, stream, law = (entry.embedding for entry in found.data)
    assert len(river) == 576
    assert _alike(river, stream) > _alike(river, law)
    assert found.usage.prompt_tokens > 0
    with pytest.raises(openai.BadRequestError, match="too large to process") as caught:
        await client.embeddings.create(model="chat", input="word " * 300)
    assert (caught.value.code, caught.value.param) == ("context_length_exceeded", "input")


def _alike(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


async def test_what_the_engine_refuses_names_the_prompt(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await client.completions.create(**{**_SKY, "prompt": "word " * 900})
    assert (caught.value.code, caught.value.param) == ("context_length_exceeded", "prompt")
    with pytest.raises(openai.BadRequestError, match="invalid tokens"):
        await client.completions.create(**{**_SKY, "prompt": [99_999_999]})


async def test_a_chat_begins_with_its_role(client: openai.AsyncOpenAI) -> None:
    messages: Any = [{"role": "user", "content": "Say a word."}]
    stream = await client.chat.completions.create(
        model="chat", messages=messages, max_tokens=3, stream=True
    )
    deltas = [chunk.choices[0].delta async for chunk in stream if chunk.choices]
    assert deltas[0].role == "assistant"
    assert "".join(delta.content or "" for delta in deltas)


async def test_tools_are_taken(client: openai.AsyncOpenAI) -> None:
    """The model has no template for calls: that the engine reads tools is all that shows here."""
    tool: Any = {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}
    answer = await client.chat.completions.create(
        model="chat",
        messages=[{"role": "user", "content": "What time is it?"}],
        tools=[tool],
        max_tokens=4,
    )
    assert answer.choices[0].finish_reason in {"length", "stop", "tool_calls"}


async def test_a_client_that_leaves_in_the_prompt_frees_the_slot_soon(
    replica: ReplicaProcess, client: openai.AsyncOpenAI
) -> None:
    socket, _ = replica.engine()

    async def busy() -> bool:
        return any(slot["is_processing"] for slot in await ask_engine(socket, "/slots"))

    async def idle() -> bool:
        return not await busy()

    fields: Any = {**_SKY, "prompt": "word " * 450, "max_tokens": 1, "stream": True}
    began = time.monotonic()
    assert [chunk async for chunk in await client.completions.create(**fields)]
    whole_s = time.monotonic() - began
    request = asyncio.ensure_future(client.completions.create(**fields))
    await eventually(busy, "the prompt to be read")
    request.cancel()
    left = time.monotonic()
    await asyncio.gather(request, return_exceptions=True)
    await eventually(idle, "the slot to be free")
    assert time.monotonic() - left < 0.6 * whole_s, "one batch of eight, and some patience"


class _Answer(BaseModel):
    """Whether it is so."""

    yes: bool


async def test_langchain_gets_its_schema_and_its_texts(replica: ReplicaProcess) -> None:
    async with openai.DefaultAsyncHttpxClient() as http:
        common: dict[str, Any] = {
            "model": "chat",
            "base_url": f"{replica.base}/v1",
            "api_key": "unused",
            "max_retries": 0,
            "http_async_client": http,
        }
        model = ChatOpenAI(**common, max_completion_tokens=32, temperature=0)
        structured = model.with_structured_output(_Answer, method="json_schema")
        answer = await structured.ainvoke("Is water wet?")
        assert isinstance(answer, _Answer)
        texts = await OpenAI(**common, max_tokens=4).agenerate(["The sky is", "Two and two"])
        assert len(texts.generations) == 2
        assert json.dumps(texts.llm_output)
