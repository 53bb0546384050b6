"""The command line: a command parses, calls one function, prints."""

from warmfleet.cli.app import main

__all__ = ["main"]
