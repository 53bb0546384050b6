"""Logging of the service: key=value lines on stderr, which the journal keeps. Never a prompt."""

import logging
import sys

__all__ = ["configure"]

_FORMAT = "level=%(levelname)s logger=%(name)s %(message)s"


def configure(level: int = logging.INFO) -> None:
    """Send this package's records, and warnings of its libraries, to stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(_FORMAT))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.getLogger("inference_app").setLevel(level)
