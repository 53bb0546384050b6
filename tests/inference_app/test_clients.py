"""OpenAI's own client and LangChain's, unchanged, against a running replica."""

import warnings
from collections.abc import AsyncIterator, Iterator
from typing import Any

import openai
import pytest

from tests.inference_app.support import (
    MESSAGES,
    ReplicaProcess,
    replica_process,
    settings_document,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own dependencies
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_openai import ChatOpenAI, OpenAI, OpenAIEmbeddings

_WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


@pytest.fixture(scope="module")
def replica(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReplicaProcess]:
    folder = tmp_path_factory.mktemp("clients")
    document = settings_document(folder, tokens_per_s=0, fail_on="PLEASE-FAIL")
    with replica_process(folder, document) as process:
        process.wait_ready()
        yield process


async def test_text_completions(client: openai.AsyncOpenAI) -> None:
    fields: Any = {"model": "chat", "prompt": "the sky is", "max_tokens": 6}
    whole = await client.completions.create(**fields)
    assert (whole.object, whole.choices[0].finish_reason) == ("text_completion", "length")
    assert whole.usage is not None
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (3, 6)
    options: Any = {"stream": True, "stream_options": {"include_usage": True}}
    chunks = [chunk async for chunk in await client.completions.create(**fields, **options)]
    text = "".join(chunk.choices[0].text for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].text
    assert chunks[-1].usage == whole.usage


@pytest.mark.parametrize("stream", [True, False])
async def test_a_tool_call(client: openai.AsyncOpenAI, stream: bool) -> None:
    fields: Any = {
        "model": "chat",
        "messages": MESSAGES,
        "tools": [_WEATHER],
        "tool_choice": "required",
    }
    if stream:
        async with client.chat.completions.stream(**fields) as events:
            completion: Any = await events.get_final_completion()
    else:
        completion = await client.chat.completions.create(**fields)
    choice = completion.choices[0]
    assert choice.finish_reason == "tool_calls"
    (call,) = choice.message.tool_calls
    assert (call.id, call.type) == ("call_0", "function")
    assert (call.function.name, call.function.arguments) == ("get_weather", '{"city": "amber"}')
    assert choice.message.content is None


async def test_embeddings(client: openai.AsyncOpenAI) -> None:
    found = await client.embeddings.create(
        model="chat", input=["one text", "another"], encoding_format="float"
    )
    assert [entry.index for entry in found.data] == [0, 1]
    assert len(found.data[0].embedding) == 8
    assert found.usage.prompt_tokens == 3


@pytest.mark.parametrize(
    ("fields", "kind", "code"),
    [
        ({"model": "gpt-9"}, openai.NotFoundError, "model_not_found"),
        ({"temperature": -1}, openai.BadRequestError, None),
        ({"prompt": "word " * 600}, openai.BadRequestError, "context_length_exceeded"),
        ({"prompt": "PLEASE-FAIL"}, openai.InternalServerError, "engine_error"),
    ],
)
async def test_errors_are_the_clients_own(
    client: openai.AsyncOpenAI, fields: dict[str, Any], kind: type[openai.APIStatusError], code: str
) -> None:
    asked: Any = {"model": "chat", "prompt": "hello", "max_tokens": 2, **fields}
    with pytest.raises(kind) as caught:
        await client.completions.create(**asked)
    assert caught.value.code == code


async def test_a_time_limit_of_the_request(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="found 'soon'; needed seconds"):
        await client.completions.create(
            model="chat", prompt="hi", extra_headers={"X-Request-Timeout": "soon"}
        )


@pytest.fixture
async def common(replica: ReplicaProcess) -> AsyncIterator[dict[str, Any]]:
    """Yield what every model of LangChain is told; it closes no connections of its own."""
    async with openai.DefaultAsyncHttpxClient() as http:
        yield {
            "model": "chat",
            "base_url": f"{replica.base}/v1",
            "api_key": "unused",
            "max_retries": 0,
            "http_async_client": http,
        }


async def test_langchain_chats(common: dict[str, Any]) -> None:
    chat = ChatOpenAI(**common, max_completion_tokens=6, stream_usage=True)
    messages = [HumanMessage("tell me about trees")]
    whole = await chat.ainvoke(messages)
    parts = [part async for part in chat.astream(messages)]
    assert "".join(part.text for part in parts) == whole.text
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["output_tokens"] == 6
    counted = [part.usage_metadata for part in parts if part.usage_metadata]
    assert [usage["output_tokens"] for usage in counted] == [6]


async def test_langchain_calls_tools(common: dict[str, Any]) -> None:
    bound = ChatOpenAI(**common).bind_tools([_WEATHER], tool_choice="required")
    answer = await bound.ainvoke([HumanMessage("weather in Paris?")])
    assert isinstance(answer, AIMessage)
    (call,) = answer.tool_calls
    assert (call["name"], call["args"]) == ("get_weather", {"city": "amber"})


async def test_langchain_completes_texts(common: dict[str, Any]) -> None:
    model = OpenAI(**common, max_tokens=5)
    whole = await model.ainvoke("the sky is")
    assert len(whole.split()) == 5
    assert "".join([part async for part in model.astream("the sky is")]) == whole


async def test_langchain_embeds(common: dict[str, Any]) -> None:
    model = OpenAIEmbeddings(**common, check_embedding_ctx_length=False)
    first, second = await model.aembed_documents(["one text", "another"])
    assert (len(first), len(second)) == (8, 8)
    assert first != second


async def test_langchain_raises_the_same_errors(common: dict[str, Any]) -> None:
    with pytest.raises(openai.BadRequestError, match="at most 64"):
        await ChatOpenAI(**common, max_completion_tokens=65).ainvoke([HumanMessage("hi")])
