"""Parameters of a transformer from its shape.

Counted are the matrices, the embeddings and the norms' vectors; left out are biases, sinks and
scales, which are below 0.1 % (Qwen2.5-7B: 4096 + 1024 values of bias a layer, 0.002 %).
"""

from msgspec import Struct

from warmfleet.catalog.architecture import Experts, LatentAttention

__all__ = ["Shape", "active_parameters", "total_parameters"]


class Shape(Struct, frozen=True):
    """What a count follows from; sizes count elements."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    tied_embeddings: bool
    latent: LatentAttention | None = None
    experts: Experts | None = None
    matrices: int = 3
    """Of a feed-forward block: gate, up and down; 2 without a gate."""
    attention_layers: int | None = None
    """Layers with attention; None: all."""
    feed_forward_layers: int | None = None
    """Layers with a feed-forward block or experts; None: all."""
    gated_queries: bool = False
    """A gate as large as the query beside it."""
    mixer_parameters: int = 0
    """Of all state-space, linear and convolution layers together."""
    positions: int = 0
    """Rows of a table of learned positions."""
    layer_embeddings: int = 0
    """Of tables that give each layer a vector for a token."""


def total_parameters(shape: Shape) -> int:
    """Return all parameters of the text model."""
    return _outside_experts(shape) + (shape.experts.count if shape.experts else 0) * _expert(shape)


def active_parameters(shape: Shape) -> int:
    """Return the parameters that one token uses; the embeddings count whole."""
    used = shape.experts.per_token if shape.experts else 0
    return _outside_experts(shape) + used * _expert(shape)


def _expert(shape: Shape) -> int:
    """Return the parameters of one routed expert in all its layers."""
    if shape.experts is None:
        return 0
    width = shape.matrices * shape.hidden * shape.experts.intermediate
    return shape.experts.layers * width


def _outside_experts(shape: Shape) -> int:
    hidden = shape.hidden
    embeddings = shape.vocabulary * hidden * (1 if shape.tied_embeddings else 2)
    attention = _or_all(shape.attention_layers, shape) * _attention(shape)
    norms = (2 * shape.layers + 1) * hidden
    return (
        embeddings
        + shape.positions * hidden
        + shape.layer_embeddings
        + attention
        + shape.mixer_parameters
        + _feed_forward(shape)
        + norms
    )


def _attention(shape: Shape) -> int:
    hidden, heads = shape.hidden, shape.heads
    if shape.latent is not None:
        return _latent(shape, shape.latent)
    queries = hidden * heads * shape.head_dim * (2 if shape.gated_queries else 1)
    keys_and_values = 2 * hidden * shape.kv_heads * shape.head_dim
    return queries + keys_and_values + heads * shape.head_dim * hidden


def _latent(shape: Shape, latent: LatentAttention) -> int:
    """Return those of multi-head latent attention (arXiv 2405.04434, section 2.1)."""
    hidden, heads = shape.hidden, shape.heads
    nope = latent.nope_dim or shape.head_dim - latent.rope_dim
    value = latent.value_dim or nope
    wide = heads * (nope + latent.rope_dim)
    rank = latent.query_rank
    queries = hidden * wide if rank is None else hidden * rank + rank * wide
    compressed = hidden * (latent.kv_rank + latent.rope_dim)
    return queries + compressed + latent.kv_rank * heads * (nope + value) + heads * value * hidden


def _feed_forward(shape: Shape) -> int:
    """Return those of the dense blocks, the routers and the experts that every token uses."""
    layers, experts = _or_all(shape.feed_forward_layers, shape), shape.experts
    with_experts = experts.layers if experts else 0
    blocks = (layers - with_experts) * shape.intermediate
    blocks += with_experts * (experts.shared_intermediate if experts else 0)
    routers = with_experts * shape.hidden * (experts.count if experts else 0)
    return shape.matrices * shape.hidden * blocks + routers


def _or_all(layers: int | None, shape: Shape) -> int:
    return shape.layers if layers is None else layers
