"""Headers of a request that the gate acts on."""

from typing import Final

__all__ = ["KEY_HEADER", "TIME_LIMIT_HEADER"]

KEY_HEADER: Final = "X-Warmfleet-Key"
"""Name of the API key, from the gateway, which lets no client write it."""

TIME_LIMIT_HEADER: Final = "X-Request-Timeout"
"""Seconds that a client allows its request, waiting included."""
