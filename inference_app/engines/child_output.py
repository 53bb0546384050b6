"""Progress lines of the children that this package ships; read back by ``progress_of_json``."""

import json
import sys

__all__ = ["report"]


def report(
    *,
    phase: str | None = None,
    listening: bool = False,
    failure: str | None = None,
    **detail: object,
) -> None:
    """Print one progress line to stdout at once."""
    progress = {"phase": phase, "listening": listening, "failure": failure, "detail": detail}
    sys.stdout.write(json.dumps({"progress": progress}) + "\n")
    sys.stdout.flush()
