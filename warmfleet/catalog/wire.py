"""What requests and answers weigh on the wire, and how far load rises above its mean."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from warmfleet.catalog.rows import Row
from warmfleet.spec.network import Script

__all__ = ["Handshake", "Peaks", "WireSizes"]


class Handshake(BaseModel):
    """Bytes and segments of setting up and closing one connection, with TLS."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    sent: int = Field(gt=0, description="by the server")
    sent_segments: int = Field(gt=0)
    received: int = Field(gt=0)
    received_segments: int = Field(gt=0)


class WireSizes(Row):
    """Bytes of the parts; ``plan.wire`` puts them together."""

    event_bytes: int = Field(gt=0, description="of a streamed event without model name and text")
    first_event_bytes: int = Field(gt=0, description="the same, of the one that names the role")
    done_bytes: int = Field(gt=0, description="end mark of a stream")
    chunk_bytes: int = Field(gt=0, description="around a chunk, beside its length in hexadecimal")
    record_bytes: int = Field(gt=0, description="around a TLS record")
    record_payload: int = Field(gt=0, description="of a TLS record at most")
    segment_bytes: int = Field(gt=0, description="TCP, IP and Ethernet around a segment")
    segment_payload: int = Field(gt=0, description="of a segment at most")
    text_bytes: dict[Script, int] = Field(description="of a token's text")
    answer_header_bytes: int = Field(gt=0)
    answer_json_bytes: int = Field(gt=0, description="around the text of an answer in one piece")
    request_header_bytes: int = Field(gt=0)
    request_json_bytes: int = Field(gt=0, description="around the prompt")
    embedding_value_bytes: dict[Literal["float", "base64"], float]
    handshake: Handshake


class Peaks(Row):
    """How far load rises above the figures of a spec, and how far it falls below."""

    headroom: float = Field(ge=1, description="planned over computed bandwidth")
    second_to_minute: float = Field(ge=1, description="peak of a second over peak of a minute")
    mean_of_peak: float = Field(gt=0, le=1, description="mean of a month over its busiest minute")
    p95_exponent: float = Field(
        ge=0, le=1, description="p95 over peak is (mean over peak) to this power"
    )
