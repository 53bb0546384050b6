"""The real engine with real weights: what only it can show."""

import asyncio
import contextlib
import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import openai
import pytest
from hypothesis import HealthCheck, given, settings

from inference_app.errors import EngineError, SettingsError
from tests.inference_app.bad_requests import bodies, post, refused
from tests.inference_app.gguf_files import gguf
from tests.inference_app.support import (
    ReplicaProcess,
    ask_engine,
    chat_body,
    eventually,
    local_replica,
    replica_process,
    settings_document,
)
from warmfleet.converge.weights import ensure_weights
from warmfleet.plan.lock import read_lock
from warmfleet.plan.models import ModelPlan
from warmfleet.project import Project

pytestmark = [pytest.mark.llamacpp, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def planned() -> ModelPlan:
    """Return the model of the committed lab plan."""
    project = Project(Path(__file__).parents[2] / "stacks")
    return read_lock(project.plan_file("lab")).models[0]


@pytest.fixture(scope="module")
def weights(planned: ModelPlan) -> Path:
    """Return the weights of the lab, fetched where they are not there yet."""
    project = Project(Path(__file__).parents[2] / "stacks")
    return ensure_weights(project, planned, lambda _line: None)


_TRY_SOCKETS = """
import errno, json, os, socket, sys

def attempt(make):
    try:
        make().close()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "made"

if sys.orig_argv[1:3] == ["-m", "inference_app.engines.llamacpp_child"]:
    families = ("AF_INET", "AF_INET6", "AF_NETLINK", "AF_UNIX")
    tried = {name: attempt(lambda: socket.socket(getattr(socket, name))) for name in families}
    tried["connect"] = attempt(lambda: socket.create_connection(("127.0.0.1", 9)))
    with open(os.environ["TRIED"], "w") as file:
        json.dump(tried | {"process": os.getpid()}, file)
"""


def _document(folder: Path, weights: Path) -> dict[str, Any]:
    document = settings_document(folder)
    document["model"] |= {
        "path": str(weights),
        "size_bytes": max(weights.stat().st_size, 1),
        "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
    }
    document["engine"] |= {"kind": "llamacpp", "context_tokens": 512, "batch_tokens": 64}
    document["warmup"] |= {
        "shapes": [{"prompt_tokens": 100, "output_tokens": 8, "stream": True}],
        "window": 3,
        "ratio": 2.0,
        "budget_s": 120,
    }
    document["limits"]["max_output_tokens"] = 256
    document["timeouts"] |= {"generation_s": 120, "drain_s": 60}
    return document


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make the engine child try sockets; return where it writes how each ended."""
    folder = tmp_path_factory.mktemp("tried")
    (folder / "sitecustomize.py").write_text(_TRY_SOCKETS)  # Python runs it in every process
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        patch.setenv("TRIED", str(folder / "tried.json"))
        yield folder / "tried.json"


@pytest.fixture(scope="module")
def replica(
    tmp_path_factory: pytest.TempPathFactory, weights: Path, tried: Path
) -> Iterator[ReplicaProcess]:
    assert not tried.exists()
    folder = tmp_path_factory.mktemp("llamacpp")
    with replica_process(folder, _document(folder, weights)) as process:
        process.wait_ready()
        yield process


async def test_the_ledger_shows_a_real_load(replica: ReplicaProcess, planned: ModelPlan) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{replica.admin}/coldstart") as response,
    ):
        ledger = await response.json()
    names = [phase["name"] for phase in ledger["phases"]]
    assert names == [
        "process_start",
        "imports",
        "engine_start",
        "weights",
        "engine_init",
        "first_forward",
        "warmup",
        "ready",
    ]
    detail = ledger["phases"][3]["detail"]
    assert detail["bytes"] == planned.size_bytes
    assert 0.01 < detail["gb_per_s"] < 20
    warmup = ledger["phases"][6]["detail"]
    assert warmup["measured_prompt_tokens"] == pytest.approx(100, rel=0.1)
    assert sum(phase["duration_s"] for phase in ledger["phases"]) == pytest.approx(
        ledger["total_s"], abs=1e-4
    )


async def test_the_first_user_pays_what_a_steady_one_does(replica: ReplicaProcess) -> None:
    seconds = []
    async with aiohttp.ClientSession() as session:
        for number in range(6):
            messages = [{"role": "user", "content": f"{number} " + "river " * 68}]
            body = chat_body(messages=messages, max_tokens=8, ignore_eos=True, cache_prompt=False)
            started = time.monotonic()
            async with session.post(replica.chat_url, json=body) as response:
                assert (await response.json())["usage"]["completion_tokens"] == 8
            seconds.append(time.monotonic() - started)
    steady = sorted(seconds[1:])[2]
    assert seconds[0] < 2.5 * steady, seconds  # the machine is shared; a cold start is 10x


async def test_streamed_and_whole_agree(client: openai.AsyncOpenAI) -> None:
    fields: Any = {
        "model": "chat",
        "messages": [{"role": "user", "content": "Name two colours."}],
        "max_tokens": 6,
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": 2,
        "extra_body": {"cache_prompt": False},
    }
    whole = await client.chat.completions.create(**fields)
    chunks = [chunk async for chunk in await client.chat.completions.create(**fields, stream=True)]
    assert {chunk.model for chunk in chunks} == {whole.model} == {"chat"}
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == whole.choices[0].message.content
    assert whole.choices[0].logprobs is not None
    assert whole.choices[0].logprobs.content is not None
    assert "".join(token.token for token in whole.choices[0].logprobs.content) == text
    assert whole.usage is not None
    assert whole.usage.completion_tokens == 6
    assert whole.choices[0].finish_reason == "length"
    assert not any(chunk.usage for chunk in chunks)


async def test_several_choices(client: openai.AsyncOpenAI) -> None:
    whole = await client.chat.completions.create(
        model="chat", messages=[{"role": "user", "content": "Say a word."}], max_tokens=3, n=2
    )
    assert [choice.index for choice in whole.choices] == [0, 1]
    assert all(choice.message.content for choice in whole.choices)


async def test_a_json_schema_is_kept(client: openai.AsyncOpenAI) -> None:
    schema: Any = {
        "type": "json_schema",
        "json_schema": {
            "name": "answer",
            "schema": {
                "type": "object",
                "properties": {"yes": {"type": "boolean"}},
                "required": ["yes"],
                "additionalProperties": False,
            },
        },
    }
    whole = await client.chat.completions.create(
        model="chat",
        messages=[{"role": "user", "content": "Is water wet?"}],
        max_tokens=32,
        response_format=schema,
    )
    assert whole.choices[0].message.content is not None
    assert json.loads(whole.choices[0].message.content)["yes"] in (True, False)


async def test_too_long_a_prompt_is_openais_error(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="exceeds the available context") as caught:
        await client.chat.completions.create(
            model="chat", messages=[{"role": "user", "content": "word " * 900}]
        )
    assert caught.value.code == "context_length_exceeded"


def test_the_engine_cannot_make_a_network_socket(replica: ReplicaProcess, tried: Path) -> None:
    _, engine = replica.engine()
    assert json.loads(tried.read_text()) == {
        "process": engine,
        "AF_INET": "EAFNOSUPPORT",
        "AF_INET6": "EAFNOSUPPORT",
        "AF_NETLINK": "EAFNOSUPPORT",
        "AF_UNIX": "made",
        "connect": "EAFNOSUPPORT",
    }


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_goes_away_frees_the_slot(
    replica: ReplicaProcess, stream: bool
) -> None:
    socket, _ = replica.engine()
    async with aiohttp.ClientSession() as session:

        async def busy() -> bool:
            return any(slot["is_processing"] for slot in await ask_engine(socket, "/slots"))

        async def idle() -> bool:
            return not await busy()

        async def ask() -> None:
            body = chat_body(max_tokens=256, stream=stream, ignore_eos=True)
            async with session.post(replica.chat_url, json=body) as response:
                await response.read()

        request = asyncio.create_task(ask())
        await eventually(busy, "the generation to begin")
        request.cancel()
        left = time.monotonic()
        await asyncio.gather(request, return_exceptions=True)
        await eventually(idle, "the slot to be free")
        assert time.monotonic() - left < 3, "256 tokens take longer than that"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"no_such": 1}, "llama.cpp has no no_such"),
        ({"n_keep": "many"}, "n_keep: "),
        ({"n_keep": 2**80}, "n_keep: "),
    ],
)
async def test_options_that_it_does_not_take_are_wrong_settings(
    tmp_path: Path, options: dict[str, object], reason: str
) -> None:
    weights = tmp_path / "unread.gguf"
    weights.touch()
    document = _document(tmp_path, weights)
    document["engine"]["options"] = options
    with pytest.raises(SettingsError, match=f"engine.options: {reason}"):
        async with local_replica(document):
            pass


async def test_a_context_that_no_number_holds_is_a_wrong_setting(tmp_path: Path) -> None:
    weights = tmp_path / "unread.gguf"
    weights.touch()
    document = _document(tmp_path, weights)
    document["engine"]["context_tokens"] = 2**40
    with pytest.raises(SettingsError, match="found a number that llama"):
        async with local_replica(document):
            pass


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "found 0 bytes; needed 1, as deployed"),
        (b"no weights at all", "found b'no w' at its start; needed b'GGUF', a GGUF file"),
        (b"GGUF" + b"\xff" * 4096, "found GGUF version 4294967295; needed 2 or 3"),
        (gguf(tensor_count=2**63), "tensors should be; needed "),
        (gguf(), "unknown model architecture"),
    ],
    ids=["empty", "text", "random", "absurd", "no model"],
)
async def test_bad_weights_are_told_in_one_line(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(content)
    with pytest.raises(EngineError) as caught:
        async with local_replica(_document(tmp_path, bad)):
            pass
    said = str(caught.value)
    assert "the engine ended" in said
    assert str(bad) in said
    assert "\n" not in said
    (ledger,) = (tmp_path / "state" / "ledger").glob("*.json")
    assert json.loads(ledger.read_text())["failure"] == said
    assert reason in said


async def test_weights_that_changed_after_the_deploy_are_not_loaded(
    tmp_path: Path, weights: Path
) -> None:
    own = tmp_path / "own.gguf"
    shutil.copy(weights, own)
    document = _document(tmp_path, own)
    with own.open("r+b") as file:  # in the data of a tensor, where nothing else would see it
        file.seek(60_000_000)
        byte = file.read(1)[0]
        file.seek(60_000_000)
        file.write(bytes([byte ^ 1]))
    with pytest.raises(EngineError, match=r"found sha256 .*; needed .*, as deployed"):
        async with local_replica(document):
            pass


async def test_a_head_with_any_bit_wrong_is_served_or_told(tmp_path: Path, weights: Path) -> None:
    own = tmp_path / "own.gguf"
    shutil.copy(weights, own)
    own.chmod(0o600)
    told = 0
    for bit in (197, 325, 1_403, 2_111, 3_017, 5_003):
        with _flipped(own, bit):
            folder = tmp_path / str(bit)
            folder.mkdir()
            began = time.monotonic()
            said = ""
            try:
                async with local_replica(_document(folder, own)):
                    pass
            except EngineError as error:
                said = str(error)
                told += 1
            assert not {"\n", "Traceback"} & {*said, *said.split()}, bit
            assert time.monotonic() - began < 60, bit
    assert told > 0


@contextlib.contextmanager
def _flipped(path: Path, bit: int) -> Iterator[None]:
    def flip() -> None:
        with path.open("r+b") as file:
            file.seek(bit // 8)
            byte = file.read(1)[0]
            file.seek(bit // 8)
            file.write(bytes([byte ^ 1 << bit % 8]))

    flip()
    try:
        yield
    finally:
        flip()


# llama.cpp itself answers 500 to each.
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"reasoning_format": "x"}, "Unknown reasoning format"),
        ({"tools": True}, "tools: found true; needed a list"),
        ({"messages": [{"content": "x"}]}, "messages[0].role: missing"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "text: missing"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{}]}]},
            "messages[0].tool_calls[0].type: missing",
        ),
    ],
)
def test_a_request_at_fault_is_no_fault_of_the_server(
    replica: ReplicaProcess, fields: dict[str, Any], reason: str
) -> None:
    body = json.dumps(chat_body(**{"max_tokens": 2, **fields})).encode()
    assert reason in refused(*post(replica.base, body))["message"]


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(body=bodies)
def test_no_body_breaks_the_real_engine(replica: ReplicaProcess, body: bytes) -> None:
    status, answer = post(replica.base, body)
    if status != 200:
        refused(status, answer)
    assert replica.process.poll() is None, replica.log()
