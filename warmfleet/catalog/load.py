"""Read the catalog that comes with the package."""

import hashlib
import json
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import yaml

from warmfleet.catalog.models import Catalog

__all__ = ["EDITION", "load_catalog", "read_rows", "read_table"]

EDITION = "2026.11"
"""Said by people; the digest behind it is what tells two catalogs apart."""

_READ_WHEN_ASKED = {
    "drivers.yaml",
    "cold_start.yaml",
    "cold_start_anchors.yaml",
    "gpus.yaml",
    "land.json",
    "llms.json",
    "load_rates.yaml",
    "prices.yaml",
    "quality.yaml",
    "rtt.json",
    "servers.yaml",
    "speed_anchors.yaml",
}
"""Not needed by every command; modules of the catalog named like the tables read them."""


@cache
def load_catalog() -> Catalog:
    """Return the catalog; its version is the edition and a digest of all data files."""
    digest = hashlib.sha256()
    rows: dict[str, Any] = {}
    for file in sorted(_folder().iterdir(), key=lambda entry: entry.name):
        if not file.name.endswith((".yaml", ".json")):
            continue
        raw = file.read_bytes()
        digest.update(file.name.encode() + b"\0" + raw + b"\0")
        if file.name not in _READ_WHEN_ASKED:
            rows |= _parse(file.name, raw)
    return Catalog.model_validate({"version": f"{EDITION}+{digest.hexdigest()[:12]}", **rows})


def read_table(file: str, table: str) -> list[dict[str, Any]]:
    """Return the rows of one table, as they stand in a file of ``data/``."""
    return list(read_rows(file)[table])


@cache
def read_rows(file: str) -> dict[str, Any]:
    """Return all that a file of ``data/`` holds."""
    return _parse(file, (_folder() / file).read_bytes())


def _folder() -> Traversable:
    return resources.files("warmfleet.catalog") / "data"


def _parse(name: str, raw: bytes) -> dict[str, Any]:
    if name.endswith(".json"):  # long tables: ten times as fast as YAML
        return dict(json.loads(raw))
    rows: dict[str, Any] = yaml.load(raw, Loader=_Loader)  # noqa: S506 - safe, and in C if it can be
    return rows


_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
