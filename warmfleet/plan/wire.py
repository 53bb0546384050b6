"""What one request and its answer weigh on the wire: text, JSON, chunks, TLS, TCP, IP, Ethernet."""

import math

from msgspec import Struct

from warmfleet.catalog.wire import WireSizes
from warmfleet.spec.models import CallerSpec

__all__ = ["Exchange", "SiteCaller", "exchange"]


class SiteCaller(Struct, frozen=True):
    """A caller as one site sees it."""

    spec: CallerSpec
    qps: float
    """Of this site, in the busiest minute."""
    model: str
    """Its name in the API; every streamed event repeats it."""
    task: str
    hidden: int
    """Width of the model: values of an embedding."""


class Exchange(Struct, frozen=True):
    """Bytes of one request with its answer, framing included."""

    egress: float
    """From the site: the answer, and the server's part of a handshake."""
    ingress: float
    """To the site: the request, acknowledgements of the answer, the client's part."""
    how: str
    """What the egress is made of."""


def exchange(caller: SiteCaller, wire: WireSizes) -> Exchange:
    """Return what one request of a caller costs; sizes that were measured are taken as they are."""
    sent, acknowledged, how = _answer(caller, wire)
    spec = caller.spec
    if spec.request is not None:
        received = float(spec.request.bytes)
    else:
        text = spec.prompt_tokens * wire.text_bytes[spec.script]
        body = wire.request_header_bytes + wire.request_json_bytes + text
        received = _framed(body, wire)
    received += acknowledged * wire.segment_bytes
    if not spec.keep_alive:
        hand = wire.handshake
        greeting = hand.sent + hand.sent_segments * wire.segment_bytes
        sent += greeting
        received += hand.received + hand.received_segments * wire.segment_bytes
        how += f", and {greeting} B of a handshake each"
    return Exchange(sent, received, how)


def _answer(caller: SiteCaller, wire: WireSizes) -> tuple[float, int, str]:
    """Return bytes, segments that are acknowledged, and what the bytes are."""
    spec = caller.spec
    if spec.response is not None:
        size = spec.response.bytes
        return float(size), math.ceil(size / wire.segment_payload), "as measured"
    head = wire.answer_header_bytes
    if caller.task == "embedding":
        vector = math.ceil(caller.hidden * wire.embedding_value_bytes[spec.encoding])
        how = f"a vector of {caller.hidden} values in {spec.encoding} is {vector} B of JSON"
        return _whole(head + wire.answer_json_bytes + vector, how, wire)
    text = wire.text_bytes[spec.script]
    if not spec.stream or caller.task == "classification":
        body = wire.answer_json_bytes + spec.output_tokens * text
        how = f"{spec.output_tokens} tokens of {text} B in one piece"
        return _whole(head + body, how, wire)
    name = len(caller.model.encode())
    event = _event(wire.event_bytes + name + text, wire)
    once = (
        _framed(head, wire)
        + _event(wire.first_event_bytes + name, wire)
        + _event(wire.event_bytes + name, wire)
        + _event(wire.done_bytes, wire)
    )
    how = (
        f"{spec.output_tokens} tokens, each an event of {wire.event_bytes + name + text} B and "
        f"{event - wire.event_bytes - name - text} B of chunk, TLS, TCP, IP and Ethernet; {once} B "
        "once"
    )
    return once + spec.output_tokens * event, spec.output_tokens + 4, how


def _whole(size: int, how: str, wire: WireSizes) -> tuple[float, int, str]:
    return _framed(size, wire), math.ceil(size / wire.segment_payload), how


def _event(size: int, wire: WireSizes) -> int:
    """Return the bytes of an event that is flushed on its own."""
    chunk = size + len(f"{size:x}") + wire.chunk_bytes
    return _framed(chunk, wire)


def _framed(size: int, wire: WireSizes) -> int:
    """Return the bytes of what is sent in one go."""
    sealed = size + math.ceil(size / wire.record_payload) * wire.record_bytes
    return sealed + math.ceil(sealed / wire.segment_payload) * wire.segment_bytes
