"""The JSON Schema of a spec: editors complete and check the YAML with it."""

from typing import Any

from warmfleet.spec.models import FleetSpec

__all__ = ["spec_schema"]


def spec_schema() -> dict[str, Any]:
    """Return the schema, draft 2020-12."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **FleetSpec.model_json_schema(mode="validation"),
    }
