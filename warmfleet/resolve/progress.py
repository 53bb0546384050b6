"""How what takes long is told."""

from collections.abc import Callable

__all__ = ["Progress"]

Progress = Callable[[str], None]
"""Takes one line for a person."""
