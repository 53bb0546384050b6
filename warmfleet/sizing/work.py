"""What one token costs: bytes that are read and operations that are done, before any card."""

import math

from msgspec import Struct

from warmfleet.catalog.architecture import Architecture
from warmfleet.sizing.kv_cache import kv_bits
from warmfleet.sizing.parts import parts_of
from warmfleet.sizing.precision import Precision
from warmfleet.sizing.weights import weights_bytes

__all__ = ["Work", "work_of"]

_BITS = 8


class Work(Struct, frozen=True):
    """Cost of a model's tokens, for the whole model. Bytes and floating-point operations.

    ``layer_flops`` and ``head_flops`` are of one token: two operations a weight it passes. The
    head is passed once an answer token, not by the tokens of a prompt. ``attention_flops`` are of
    one token and one token of its context, over all layers that see the whole of it.
    """

    dense_bytes: float
    expert_bytes: float
    experts: int
    experts_per_token: int
    expert_layers: int
    kv_token_bytes: float
    window_token_bytes: float
    window: int
    kv_shards: int
    layer_flops: float
    head_flops: float
    attention_flops: float
    prompt_attention_flops: float
    window_attention_flops: float
    layers: int
    hidden: int

    def experts_read(self, tokens: float) -> float:
        """Bytes of routed experts that a step over so many tokens reads.

        An expert is left alone by one token with probability ``1 - k/E`` and by n tokens with
        the n-th power of it, if tokens choose alike and independently: an upper bound on what
        real, clustered choices touch.
        """
        idle = math.pow(1 - self.experts_per_token / self.experts, tokens)
        return self.expert_bytes * (1 - idle)

    def kv_read(self, context: float) -> float:
        """Bytes of cache that one token reads at so many tokens of context."""
        return self.kv_token_bytes * context + self.window_token_bytes * min(context, self.window)

    def token_flops(self, context: float) -> float:
        """Operations of one answer token at so many tokens of context."""
        seen = self.attention_flops * context
        windowed = self.window_attention_flops * min(context, self.window)
        return self.layer_flops + self.head_flops + seen + windowed

    def prompt_flops(self, tokens: float) -> float:
        """Operations of reading a prompt: a token sees those before it, half of all on average."""
        seen = self.prompt_attention_flops * tokens / 2
        windowed = self.window_attention_flops * min(tokens / 2, self.window)
        return tokens * (self.layer_flops + seen + windowed) + self.head_flops


def work_of(architecture: Architecture, precision: Precision, *, kv_dtype: str = "auto") -> Work:
    """Work out what the tokens of a model cost.

    Args:
        architecture: the model's shape.
        precision: of its weights.
        kv_dtype: of its cache.
    """
    parts = parts_of(architecture)
    experts = architecture.experts
    routed = parts.experts * (precision.expert_bits or precision.linear_bits) / _BITS
    # A table of its own for the input is looked up, not read through.
    looked_up = parts.embedding * precision.embedding_bits / _BITS if parts.head else 0.0
    tables = parts.embedding + parts.head
    cached, seen, prompt_seen = _attention(architecture)
    element = kv_bits(kv_dtype) / _BITS
    full, windowed = architecture.full_attention_layers, architecture.windowed_layers
    return Work(
        dense_bytes=max(0.0, weights_bytes(architecture, precision) - routed - looked_up),
        expert_bytes=routed,
        experts=experts.count if experts else 1,
        experts_per_token=experts.per_token if experts else 1,
        expert_layers=experts.layers if experts else 0,
        kv_token_bytes=full * cached * element,
        window_token_bytes=windowed * cached * element,
        window=architecture.sliding_window or 0,
        kv_shards=1 if architecture.latent else architecture.kv_heads,
        layer_flops=2.0 * max(0, architecture.active_parameters - tables),
        head_flops=2.0 * parts.embedding,
        attention_flops=full * seen,
        prompt_attention_flops=full * prompt_seen,
        window_attention_flops=windowed * prompt_seen,
        layers=architecture.layers,
        hidden=architecture.hidden,
    )


def _attention(architecture: Architecture) -> tuple[float, float, float]:
    """Return elements cached a token and layer, and operations of a pair of tokens there.

    The operations are those of an answer token, then those of a prompt token: latent attention
    answers from the compressed vectors (absorbed form) but reads prompts at full head width.
    """
    heads, width = architecture.heads, architecture.head_dim
    latent = architecture.latent
    if latent is None:
        pair = 2.0 * heads * 2 * width
        return 2.0 * architecture.kv_heads * width, pair, pair
    cached = float(latent.kv_rank + latent.rope_dim)
    absorbed = 2.0 * heads * (2 * latent.kv_rank + latent.rope_dim)
    key = (latent.nope_dim or width) + latent.rope_dim
    return cached, absorbed, 2.0 * heads * (key + (latent.value_dim or width))
