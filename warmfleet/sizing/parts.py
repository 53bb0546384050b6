"""Parameters of a model by what they are, since formats and parallelism treat each its own way."""

from msgspec import Struct

from warmfleet.catalog.architecture import Architecture

__all__ = ["Parts", "parts_of"]

_MATRICES = 3
"""Gate, up and down projection."""
_PLAIN_MATRICES = 2


class Parts(Struct, frozen=True):
    """Numbers of parameters, which together are those of the text model, and what they tell."""

    embedding: int
    head: int
    """Output embedding; 0 where it is the input's."""
    queries: int
    """Query and output projections."""
    keys_values: int
    """Key and value projections: one copy for each KV head at least."""
    latent: int
    """Down-projections of latent attention: every GPU holds all of them."""
    router: int
    """Choice of experts: every GPU holds all of it, in 16 bit."""
    feed_forward: int
    """Dense blocks and shared experts."""
    experts: int
    other: int
    """Recurrent layers, and the few norms, biases and positions."""
    plain: bool
    """Feed-forward blocks have no gate."""


def parts_of(architecture: Architecture) -> Parts:
    """Divide the parameters of a model.

    Embedding, attention, router and experts follow from the shape. What is left of all parameters
    tells whether feed-forward blocks are gated: they have three matrices then, and two if not.
    """
    shape = architecture
    embedding = shape.vocabulary * shape.hidden
    attending = shape.full_attention_layers + shape.windowed_layers or shape.layers
    queries, keys_values, latent = _attention(shape)
    experts = router = 0
    if shape.experts is not None:
        moe = shape.experts
        experts = moe.count * _MATRICES * shape.hidden * moe.intermediate * moe.layers
        router = moe.count * shape.hidden * moe.layers
    known = (
        embedding * (1 if shape.tied_embeddings else 2)
        + (queries + keys_values + latent) * attending
        + experts
        + router
    )
    rest = max(0, shape.parameters - known)
    matrix = shape.hidden * _widths(shape)
    plain = shape.experts is None and rest < (_PLAIN_MATRICES + 0.5) * matrix
    feed_forward = min(rest, (_PLAIN_MATRICES if plain else _MATRICES) * matrix)
    return Parts(
        embedding=embedding,
        head=0 if shape.tied_embeddings else embedding,
        queries=queries * attending,
        keys_values=keys_values * attending,
        latent=latent * attending,
        router=router,
        feed_forward=feed_forward,
        experts=experts,
        other=rest - feed_forward,
        plain=plain,
    )


def _widths(shape: Architecture) -> int:
    """Return the widths of all feed-forward blocks that every token uses, added up."""
    if shape.experts is None:
        return shape.layers * shape.intermediate
    dense = shape.layers - shape.experts.layers
    shared = shape.experts.layers * shape.experts.shared_intermediate
    return dense * shape.intermediate + shared


def _attention(shape: Architecture) -> tuple[int, int, int]:
    """Return parameters of one layer: what is split by heads, by KV heads, and not at all."""
    if shape.latent is None:
        width = shape.heads * shape.head_dim
        return 2 * shape.hidden * width, 2 * shape.hidden * shape.kv_heads * shape.head_dim, 0
    latent = shape.latent
    nope = latent.nope_dim or shape.head_dim - latent.rope_dim
    value = latent.value_dim or nope
    from_queries = latent.query_rank or shape.hidden
    split = (
        from_queries * shape.heads * (nope + latent.rope_dim)
        + latent.kv_rank * shape.heads * (nope + value)
        + shape.heads * value * shape.hidden
    )
    whole = shape.hidden * ((latent.query_rank or 0) + latent.kv_rank + latent.rope_dim)
    return split, 0, whole
