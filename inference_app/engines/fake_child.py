"""The child of the fake engine: a small HTTP server that imports only the standard library.

``GET /fake/stats`` counts what became of the requests. A token is a word. One connection carries
one request, since that is what the service sends.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Final

from inference_app.engines.child_output import report

__all__ = ["FakeEngine", "FakeOptions"]

_DEAD: Final = 70  # exit status of a death that was asked for
_PROMPTS: Final = {"/v1/chat/completions", "/v1/completions"}
_WORDS: Final = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet")


@dataclass(frozen=True)
class FakeOptions:
    """Speed and faults; this is the reference of ``engine.options``. Times in seconds.

    Attributes:
        load_s: how long the weights take.
        compile_s: delay, once for each new power of two of prompt tokens.
        first_token_s: delay of every request.
        tokens_per_s: speed of each slot; 0 sends as fast as it can.
        start_fault: ``exit`` or ``hang`` once the weights are loaded.
        die_on: a prompt that contains this ends the process, also where it is only counted.
        fail_on: a prompt that contains this is answered with an error.
        fault_after_tokens: tokens sent before either.
    """

    load_s: float = 0.0
    compile_s: float = 0.0
    first_token_s: float = 0.0
    tokens_per_s: float = 2000.0
    start_fault: str = ""
    die_on: str = ""
    fail_on: str = ""
    fault_after_tokens: int = 0


class FakeEngine:
    """Answers requests; one instance serves all connections."""

    def __init__(self, model: str, context_tokens: int, slots: int, options: FakeOptions) -> None:
        self._model = model
        self._context_tokens = context_tokens
        self._options = options
        self._slots = asyncio.Semaphore(slots)
        self._compiled: set[int] = set()
        self._compiling = asyncio.Lock()
        self._stats = {"started": 0, "completed": 0, "cancelled": 0, "tokens": 0}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection; a client that closes it ends its generation."""
        try:
            path, body = await _read_request(reader)
            await _until_closed(reader, self._answer(path, body, _Reply(writer)))
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, path: str, body: bytes, reply: "_Reply") -> None:
        if path in _PROMPTS:
            await self._complete(path, json.loads(body), reply)
        elif path == "/v1/chat/completions/input_tokens":
            await reply.whole(200, {"input_tokens": self._count(_chat_of(json.loads(body)))})
        elif path == "/tokenize":
            await reply.whole(200, {"tokens": [0] * self._count(json.loads(body)["content"])})
        elif path == "/v1/embeddings":
            await reply.whole(200, _embeddings(json.loads(body)["input"]))
        elif path == "/fake/stats":
            await reply.whole(200, self._stats)
        elif path == "/health":
            await reply.whole(200, {"status": "ok"})
        else:
            await reply.whole(404, _error(404, f"no {path}", "not_found_error"))

    def _count(self, text: str) -> int:
        if self._fault(text) == "die":
            os._exit(_DEAD)
        return len(text.split())

    async def _complete(self, path: str, fields: dict[str, Any], reply: "_Reply") -> None:
        text = path == "/v1/completions"
        prompt = _text_of(fields["prompt"]) if text else _chat_of(fields)
        prompt_tokens = len(prompt.split())
        if prompt_tokens > self._context_tokens:
            reason = (
                f"request ({prompt_tokens} tokens) exceeds the available context size "
                f"({self._context_tokens} tokens)"
            )
            await reply.whole(400, _error(400, reason, "exceed_context_size_error"))
            return
        self._stats["started"] += 1
        try:
            async with self._slots:
                await self._compile(prompt_tokens)
                await asyncio.sleep(self._options.first_token_s)
                chunks = _Chunks(reply, self._model, prompt, text=text)
                if call := None if text else _call(fields):
                    await chunks.delta(call)
                    await chunks.end("tool_calls", prompt_tokens, 1)
                    self._stats["completed"] += 1
                else:
                    length = int(fields["max_tokens"])
                    await self._generate(prompt, prompt_tokens, length, chunks)
        except (asyncio.CancelledError, ConnectionError):
            self._stats["cancelled"] += 1
            raise

    async def _generate(
        self, prompt: str, prompt_tokens: int, length: int, chunks: "_Chunks"
    ) -> None:
        fault = self._fault(prompt)
        pause_s = 1 / self._options.tokens_per_s if self._options.tokens_per_s else 0.0
        clock = asyncio.get_running_loop().time
        due = clock()  # of each token, so that what is late does not make the rest late
        for index, word in enumerate(_tokens(prompt, length)):
            if fault and index == self._options.fault_after_tokens:
                if fault == "die":
                    os._exit(_DEAD)
                error = _error(500, "a fault was asked for", "server_error")
                await chunks.fail(error)
                return
            await chunks.delta({"content": word})
            self._stats["tokens"] += 1
            due += pause_s
            await asyncio.sleep(due - clock())
        await chunks.end("length", prompt_tokens, length)
        self._stats["completed"] += 1

    async def _compile(self, prompt_tokens: int) -> None:
        shape = max(prompt_tokens - 1, 0).bit_length()
        async with self._compiling:
            if shape not in self._compiled:
                await asyncio.sleep(self._options.compile_s)
                self._compiled.add(shape)

    def _fault(self, prompt: str) -> str:
        if self._options.die_on and self._options.die_on in prompt:
            return "die"
        return "fail" if self._options.fail_on and self._options.fail_on in prompt else ""


class _Reply:
    """Writes one HTTP answer: a JSON document, or a stream of events."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.streaming = False

    async def whole(self, status: int, document: object) -> None:
        body = json.dumps(document).encode()
        self._writer.write(_head(status, "application/json", f"content-length: {len(body)}"))
        self._writer.write(body)
        await self._writer.drain()

    async def event(self, data: bytes) -> None:
        if not self.streaming:
            self.streaming = True
            self._writer.write(_head(200, "text/event-stream", "transfer-encoding: chunked"))
        event = b"data: " + data + b"\n\n"
        self._writer.write(b"%x\r\n%s\r\n" % (len(event), event))
        await self._writer.drain()

    async def end(self, error: object | None) -> None:
        await self.event(b"[DONE]" if error is None else json.dumps(error).encode())
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()


class _Chunks:
    """Writes the chunks of one completion: of a chat, or of a text."""

    def __init__(self, reply: _Reply, model: str, prompt: str, *, text: bool) -> None:
        self._reply = reply
        self._text = text
        self._head = {
            "id": f"chatcmpl-{hashlib.sha256(prompt.encode()).hexdigest()[:24]}",
            "object": "text_completion" if text else "chat.completion.chunk",
            "created": 0,
            "model": model,
        }

    async def delta(self, delta: dict[str, Any], finish_reason: str | None = None) -> None:
        said = {"text": delta.get("content", "")} if self._text else {"delta": delta}
        choice = {"index": 0, **said, "finish_reason": finish_reason}
        await self._send({"choices": [choice]})

    async def end(self, finish_reason: str, prompt_tokens: int, tokens: int) -> None:
        await self.delta({}, finish_reason)
        usage = {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": tokens,
            "total_tokens": prompt_tokens + tokens,
        }
        await self._send({"choices": [], "usage": usage})
        await self._reply.end(None)

    async def fail(self, error: object) -> None:
        await (self._reply.end(error) if self._reply.streaming else self._reply.whole(500, error))

    async def _send(self, fields: dict[str, Any]) -> None:
        await self._reply.event(json.dumps({**self._head, **fields}).encode())


async def _read_request(reader: asyncio.StreamReader) -> tuple[str, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    request_line, *fields = head.split("\r\n")
    length = 0
    for field in fields:
        name, _, value = field.partition(":")
        if name.lower() == "content-length":
            length = int(value)
    return request_line.split(" ")[1], await reader.readexactly(length)


async def _until_closed(reader: asyncio.StreamReader, work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.ensure_future(work)
    closed = asyncio.ensure_future(reader.read(1))
    await asyncio.wait({task, closed}, return_when=asyncio.FIRST_COMPLETED)
    for pending in (task, closed):
        pending.cancel()
    await asyncio.gather(closed, return_exceptions=True)
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _head(status: int, content_type: str, length: str) -> bytes:
    lines = [f"HTTP/1.1 {status} -", f"content-type: {content_type}", length, "connection: close"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _chat_of(fields: dict[str, Any]) -> str:
    return " ".join(str(message.get("content")) for message in fields["messages"])


def _text_of(prompt: Any) -> str:
    return " ".join(map(str, prompt)) if isinstance(prompt, list) else str(prompt)


def _call(fields: dict[str, Any]) -> dict[str, Any] | None:
    """Return a call of the first tool where the request demands one."""
    choice, tools = fields.get("tool_choice"), fields.get("tools")
    if not tools or choice in ("auto", "none", None):
        return None
    function = tools[0]["function"]
    names = (function.get("parameters") or {}).get("properties")
    known = names if isinstance(names, dict) else {}
    arguments = json.dumps(dict.fromkeys(known, _WORDS[0]))
    called = {"name": function["name"], "arguments": arguments}
    return {"tool_calls": [{"index": 0, "id": "call_0", "type": "function", "function": called}]}


def _embeddings(texts: Any) -> dict[str, Any]:
    several = texts if isinstance(texts, list) and not isinstance(texts[0], int) else [texts]
    vectors = [hashlib.sha256(str(text).encode()).digest()[:8] for text in several]
    tokens = sum(len(str(text).split()) for text in several)
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": index, "embedding": [byte / 256 for byte in vector]}
            for index, vector in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _tokens(prompt: str, length: int) -> list[str]:
    digest = hashlib.sha256(prompt.encode()).digest()
    return [_WORDS[(digest[i % len(digest)] + i) % len(_WORDS)] + " " for i in range(length)]


def _error(status: int, message: str, kind: str) -> dict[str, object]:
    return {"error": {"code": status, "message": message, "type": kind}}


async def _serve(arguments: dict[str, Any]) -> None:
    options = FakeOptions(**arguments["options"])
    report(phase="weights", bytes=arguments["size_bytes"])
    await asyncio.sleep(options.load_s)
    if options.start_fault == "exit":
        sys.stderr.write("fake: a fault at start was asked for\n")
        raise SystemExit(1)
    if options.start_fault == "hang":
        await asyncio.Event().wait()
    report(phase="engine_init")
    engine = FakeEngine(
        arguments["model"], arguments["context_tokens"], arguments["slots"], options
    )
    server = await asyncio.start_unix_server(engine.serve, arguments["socket"])
    report(listening=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(json.loads(sys.argv[1])))
