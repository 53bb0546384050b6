"""Warmfleet: from a description of an inference workload to a warm endpoint."""

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("warmfleet")
