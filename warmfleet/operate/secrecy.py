"""Keeps an environment's secrets out of what is shown of its hosts."""

import re
from collections.abc import Callable

from warmfleet.stack.credentials import Credentials

__all__ = ["masking"]

_MASK = "***"
_SHORTEST = 16
_PUBLIC = (".pem", ".pub")
# What looks like a key of ours or of a client, whoever's it is.
_KEYS = re.compile(r"\bwf-[A-Za-z0-9_-]{16,}|(?<=bearer )\S{8,}", flags=re.IGNORECASE)


def masking(credentials: Credentials) -> Callable[[str], str]:
    """Return what replaces every secret of the environment, whole or line by line, by ``***``.

    Logs are not meant to hold any; this is for the day when one does.
    """
    folders = (credentials.api_key_file.parent, credentials.ssh_private_key_file.parent)
    private = [
        path
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix not in _PUBLIC and path != credentials.known_hosts_file
    ]
    lines = {line.strip() for path in private for line in path.read_text().splitlines()}
    secrets = [line for line in lines if len(line) >= _SHORTEST and not line.startswith("-----")]
    known = re.compile("|".join(map(re.escape, secrets))) if secrets else None

    def mask(text: str) -> str:
        return _KEYS.sub(_MASK, known.sub(_MASK, text) if known else text)

    return mask
