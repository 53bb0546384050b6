"""A real request through the public endpoint, timed as a client sees it."""

import http.client
import json
import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from warmfleet.errors import EndpointError

__all__ = ["Answer", "Endpoint"]

_CONNECT_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Answer:
    """A streamed chat completion; times are seconds from sending the request."""

    text: str
    replica: str
    ttft_s: float
    total_s: float
    output_tokens: int

    def time_to(self, tokens: int) -> float:
        """Return the seconds to the given token at this answer's pace.

        Models end where they like, so answers of one shape differ in length; this makes them
        comparable.
        """
        if self.output_tokens < 2:
            return self.ttft_s
        per_token = (self.total_s - self.ttft_s) / (self.output_tokens - 1)
        return self.ttft_s + per_token * (tokens - 1)


@dataclass(frozen=True)
class Endpoint:
    """Where the fleet answers and what it takes to be let in."""

    url: str
    ca_file: Path
    api_key_file: Path
    read_timeout_s: float

    def chat(self, model: str, prompt: str, max_tokens: int) -> Answer:
        """Stream one chat completion.

        Raises:
            EndpointError: no connection, a certificate that the CA did not sign, another status
                than 200, or a stream that ends early; with the status and the body's message.
        """
        body = json.dumps(
            {
                "model": model,
                "messages": [{"role": "user", "content": prompt}],
                "max_tokens": max_tokens,
                "stream": True,
                "stream_options": {"include_usage": True},
            }
        )
        connection = self._connect()
        try:
            began = time.perf_counter()
            connection.request(
                "POST",
                "/v1/chat/completions",
                body,
                {
                    "Authorization": f"Bearer {self.api_key_file.read_text().strip()}",
                    "Content-Type": "application/json",
                },
            )
            with connection.getresponse() as response:
                if response.status != http.client.OK:
                    raise EndpointError(self._refusal(response))
                return _read_stream(response, began)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            msg = f"{self.url} sent an event that is no chat completion: {error!r}"
            raise EndpointError(msg) from error
        except (OSError, http.client.HTTPException) as error:
            msg = f"{self.url} broke off the answer: {type(error).__name__}: {error}"
            raise EndpointError(msg) from error
        finally:
            connection.close()

    def _connect(self) -> http.client.HTTPSConnection:
        parts = urlsplit(self.url)
        context = ssl.create_default_context(cafile=self.ca_file)
        connection = http.client.HTTPSConnection(
            parts.hostname or "", parts.port, timeout=_CONNECT_TIMEOUT_S, context=context
        )
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            msg = f"{self.url} does not answer: {error}; see `warmfleet status`"
            raise EndpointError(msg) from error
        # From here on only the engine decides how long silence may last.
        connection.sock.settimeout(self.read_timeout_s)
        return connection

    def _refusal(self, response: http.client.HTTPResponse) -> str:
        body = response.read(4096).decode(errors="replace")
        try:
            message = json.loads(body)["error"]["message"]
        except (ValueError, KeyError, TypeError):
            message = body.splitlines()[0] if body else "empty body"
        return f"{self.url} answered {response.status} {response.reason}: {message}"


def _read_stream(response: http.client.HTTPResponse, began: float) -> Answer:
    text: list[str] = []
    ttft_s = 0.0
    tokens = 0
    done = False
    for line in response:
        if not line.startswith(b"data:"):
            continue
        data = line.removeprefix(b"data:").strip()
        if data == b"[DONE]":
            done = True
            break
        event = json.loads(data)
        if "error" in event:
            msg = f"the stream ended with an error: {event['error'].get('message', event['error'])}"
            raise EndpointError(msg)
        if event.get("usage"):
            tokens = event["usage"]["completion_tokens"]
        for choice in event.get("choices", []):
            if piece := choice["delta"].get("content"):
                ttft_s = ttft_s or time.perf_counter() - began
                text.append(piece)
    if not done:
        msg = "the stream ended without [DONE]"
        raise EndpointError(msg)
    return Answer(
        text="".join(text),
        replica=response.headers.get("X-Warmfleet-Replica", ""),
        ttft_s=ttft_s,
        total_s=time.perf_counter() - began,
        output_tokens=tokens or len(text),
    )
