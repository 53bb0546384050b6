"""The identity of a spec's meaning."""

import hashlib
import json

from warmfleet.spec.models import FleetSpec

__all__ = ["spec_digest"]


def spec_digest(spec: FleetSpec) -> str:
    """Return the sha256 of what the spec says, however it is laid out in its file.

    A default that is written out says nothing new, and a field that joins the spec later does not
    change the digest of a spec without it.
    """
    said = spec.model_dump(mode="json", exclude_defaults=True)
    text = json.dumps(said, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
