"""Warmfleet: from a description of an inference workload to a warm endpoint."""

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    """Look the version up when it is asked for: no command must wait for that."""
    if name == "__version__":
        from importlib.metadata import version

        return version("warmfleet")
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
