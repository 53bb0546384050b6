"""Where the hub is, and who asks."""

import os
from pathlib import Path
from typing import Final
from urllib.parse import quote

from warmfleet.resolve.http_store import HttpStore
from warmfleet.resolve.store import SourceUnreachableError
from warmfleet.spec.sources import HubSourceSpec

__all__ = ["hub_store", "hub_token"]

_HUB: Final = "https://huggingface.co"


def hub_store(source: HubSourceSpec) -> HttpStore:
    """Return the files of a repository, BASE/OWNER/NAME/resolve/REVISION/FILE.

    BASE is the mirror that the spec names, else that of the variable HF_ENDPOINT, else the hub. A
    token goes to the last two alone: whoever writes a spec does not choose who gets to see it.

    Raises:
        SourceUnreachableError: the variable HF_HUB_OFFLINE says that nobody is to be asked.
    """
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in {"1", "on", "yes", "true"}:
        msg = "the hub is not asked: HF_HUB_OFFLINE is set"
        raise SourceUnreachableError(msg)
    base = (source.mirror or os.environ.get("HF_ENDPOINT") or _HUB).rstrip("/")
    revision = quote(source.revision, safe="")
    token = None if source.mirror else hub_token()
    return HttpStore(f"{base}/{source.hf}/resolve/{revision}", token=token)


def hub_token() -> str | None:
    """Return the token of HF_TOKEN, or of the file that the hub's own tools keep; None: neither."""
    stated = os.environ.get("HF_TOKEN")
    if stated is None:
        home = os.environ.get("HF_HOME") or "~/.cache/huggingface"
        path = Path(os.environ.get("HF_TOKEN_PATH") or f"{home}/token").expanduser()
        try:
            stated = path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None
    token = stated.strip()
    # A header holds no other characters.
    return token if token.isascii() and token.isprintable() and token else None
