"""Bits of one weight, by what part of the model it is in."""

from msgspec import Struct

__all__ = ["Bits"]


class Bits(Struct, frozen=True):
    """Bits a weight, scales and padding included; the parts are those of ``sizing.parts``."""

    embedding: float
    head: float
    queries: float
    keys_values: float
    latent: float
    router: float
    feed_forward: float
    experts: float
    other: float
